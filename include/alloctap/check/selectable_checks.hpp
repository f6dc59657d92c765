/// Checks chosen at program start, by code or by the environment.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "alloctap/check/check_policy.hpp"
#include "alloctap/check/check_settings.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// A policy with all checks, some of which `select` enables at run time. Call `select` before the
/// hook's first call, or in `Config::on_first_call`. `select` is not thread-safe. Blocks allocated
/// before `select` are not checked. Guard pages require `HookCapabilities::uses_guard_pages`.
/// Trackers with different `Domain` types have separate settings.
template <class Domain = void>
class SelectableChecks {
 public:
  static constexpr bool kChecks = true;
  static constexpr CheckNeeds needs{.owns_every_free = true};

  static void select(const CheckSettings& settings) noexcept { settings_ = settings; }
  static const CheckSettings& settings() noexcept { return settings_; }

 private:
  static inline constinit CheckSettings settings_{};
};

static_assert(CheckPolicy<SelectableChecks<>>);

/// Parses the text of ALLOCTAP_OPTIONS, such as "guard=64 free_track verify_kinds". Each option is
/// a name from `kCheckOptions`, with `=NUMBER` if it takes a number. Spaces or commas separate
/// options; spaces around '=' are allowed. Control plane.
class CheckOptionParser {
 public:
  explicit CheckOptionParser(std::string_view text) noexcept : left_(text) {}

  /// Returns the settings, or all errors. An empty text enables nothing.
  [[nodiscard]] Result<CheckSettings> parse();

 private:
  static constexpr std::string_view kSpaces = " \t";
  static constexpr std::string_view kBetween = " \t,";
  static constexpr std::string_view kEndOfName = " \t,=";

  void skip(std::string_view characters) {
    left_.remove_prefix(std::min(left_.find_first_not_of(characters), left_.size()));
  }

  std::string_view take_until(std::string_view characters);

  void read_option();

  static const CheckOption* find(std::string_view name);

  void apply(const CheckOption& option, bool has_value, std::string_view value);

  bool read_number(std::string_view value, const CheckOption& option, std::uint64_t& number);

  /// Parses `abort_on_error=double_free+write_behind`; a missing value means all kinds.
  void read_kinds(const CheckOption& option, bool has_value, std::string_view value);

  void add_kind(const CheckOption& option, std::string_view key);

  void add_unknown(std::string_view name);

  /// Returns false for an option of malloc_debug whose feature every tracker has anyway.
  static bool has_effect(const CheckOption& option) noexcept {
    return option.apply != nullptr || option.value == CheckOption::Value::kKinds;
  }

  void add_problem(std::string_view name, const std::string& what) {
    append_text(problems_, problems_.empty() ? "" : "; ", name, ": ", what);
  }

  std::string_view left_;
  std::string problems_;
  CheckSettings settings_;
};

[[nodiscard]] inline Result<CheckSettings> parse_check_options(std::string_view text) {
  return CheckOptionParser(text).parse();
}

/// `SelectableChecks` selected by the value that ALLOCTAP_OPTIONS had at process start, such as
/// "level10" or "guard=64 free_track" (`parse_check_options`). If the variable is empty or has an
/// error, nothing is checked; `Tracker::start` reports errors.
template <class Domain = void>
class EnvironmentChecks {
 public:
  static constexpr std::string_view kVariable = "ALLOCTAP_OPTIONS";
  static constexpr bool kChecks = true;
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr CheckFeatures features{.read_environment = true, .status = true};

  static const CheckSettings& settings() noexcept { return Selected::settings(); }

  /// Applies ALLOCTAP_OPTIONS once (`CheckFeatures::read_environment`).
  static void read_environment() {
    if (was_read_) return;
    was_read_ = true;
    const Result<CheckSettings> asked = parse();
    if (asked.ok()) Selected::select(*asked);
  }

  /// Returns all errors in the variable. Control plane.
  static Status status() {
    const Result<CheckSettings> asked = parse();
    if (asked.ok()) return Status();
    return Status::invalid_argument("ALLOCTAP_OPTIONS asks for checks that there are not: ",
                                    asked.status().message());
  }

 private:
  using Selected = SelectableChecks<EnvironmentChecks>;

  static Result<CheckSettings> parse() {
    std::array<char, 4096> buffer{};
    return parse_check_options(os::initial_environment(kVariable, buffer));
  }

  static inline constinit bool was_read_ = false;
};

static_assert(CheckPolicy<EnvironmentChecks<>>);

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/check/impl/selectable_checks.hpp"
#endif
