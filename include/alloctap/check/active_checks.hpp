/// Lists the checks that a `CheckSettings` enables, under the names of `kCheckOptions`.
#pragma once

#include <cstdint>
#include <string_view>

#include "alloctap/check/check_settings.hpp"

namespace alloctap {

/// Calls `visit(std::string_view name, std::uint64_t value)` for each enabled check. `value` is 0
/// if the check has no number or covers whole blocks. May run inside malloc if `visit` may.
template <class Visit>
void for_each_active_check(const CheckSettings& settings, Visit&& visit) {
  const auto visit_number = [&visit](std::string_view name, std::uint64_t value) {
    if (value != 0) visit(name, value == CheckSettings::kAllBytes ? std::uint64_t{0} : value);
  };
  const auto visit_flag = [&visit](std::string_view name, bool is_on) {
    if (is_on) visit(name, std::uint64_t{0});
  };
  visit_number("front_guard", settings.front_guard);
  visit_number("rear_guard", settings.rear_guard);
  visit_number("fill_on_alloc", settings.fill_on_allocate);
  visit_number("fill_on_free", settings.fill_on_free);
  visit_number("expand_alloc", settings.expand);
  visit_number("free_track", settings.quarantine_blocks);
  visit_flag("verify_pointers", settings.unknown_pointers);
  visit_flag("verify_kinds", settings.kinds);
  visit_number("guard_pages", settings.guard_pages);
  visit_flag("string_checks", settings.strings);
}

}  // namespace alloctap
