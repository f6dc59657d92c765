/// Parses the text of ALLOCTAP_OPTIONS.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "alloctap/check/check_options.hpp"
#include "alloctap/check/check_settings.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Parses options such as "guard=64 free_track verify_kinds". Each option is a name from
/// `kCheckOptions`, with `=NUMBER` if it takes a number. Spaces or commas separate options; '=' may
/// have spaces around. Control plane.
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

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/check/impl/parse_check_options.hpp"
#endif
