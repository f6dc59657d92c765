/// Checks selected by the environment variable ALLOCTAP_OPTIONS.
#pragma once

#include <array>
#include <string_view>

#include "alloctap/check/check_policy.hpp"
#include "alloctap/check/parse_check_options.hpp"
#include "alloctap/check/selectable_checks.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

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

  /// Applies ALLOCTAP_OPTIONS once. Runs in the first call of the hook if the hook supports that,
  /// otherwise before the hook is installed. Not thread-safe; may allocate.
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
