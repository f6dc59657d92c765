/// Checks the arguments of string and memory functions.
#pragma once

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// Checks calls of memcpy, strlen, printf and related functions, including wide and fortified
/// forms. A range that touches a block must lie within that block, which must be live. Source and
/// destination must not overlap if the C standard forbids overlap. A fault is reported before the
/// call, which then runs unchanged. Memory outside blocks and inlined calls are not checked.
///
/// If the program interposes malloc, the source file with the interposition needs
/// `ALLOCTAP_DEFINE_INTERPOSED_STRINGS(Tracker)` (hook/interposed_strings.hpp). On Windows, calls
/// through the modules' import tables are checked until the tracker stops
/// (hook/windows/string_slots.hpp). Not checked: calls into a statically linked C library, such as
/// GCC's printf in C++, and the arguments of a wchar_t format.
struct StringChecks {
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.blocks = true;
    settings.strings = true;
  }
};

static_assert(Check<StringChecks>);

}  // namespace alloctap
