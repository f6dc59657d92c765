/// Checks the arguments of string and memory functions.
#pragma once

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// Checks calls of memcpy, strlen, printf and their relatives, wide and fortified forms included.
/// Each range that touches a block must lie within one live block. Ranges that must not overlap are
/// checked too. A fault is reported before the call, which then runs unchanged. Memory outside
/// blocks, and calls that the compiler inlined, are not checked.
///
/// If malloc is interposed, that source file needs `ALLOCTAP_DEFINE_INTERPOSED_STRINGS(Tracker)`
/// (hook/interposed_strings.hpp). On Windows, calls through the modules' import tables are checked
/// until the tracker stops (hook/windows/string_slots.hpp). Calls into a statically linked C
/// library are not, such as GCC's own printf in C++; nor are the arguments of a wchar_t format.
struct StringChecks {
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.blocks = true;
    settings.strings = true;
  }
};

static_assert(Check<StringChecks>);

}  // namespace alloctap
