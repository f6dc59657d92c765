/// Checks what functions of strings and of memory are given.
#pragma once

#include "alloctap/check/check_policy.hpp"

namespace alloctap {

/// memcpy, strlen, printf and their relatives, the wide and the fortified forms: whether what a
/// call reads and writes lies in one live block wherever it touches one, and whether ranges that
/// must not overlap do. It is told before the call, which then runs as it would have. Memory that
/// is no block is not looked at, nor is what the compiler made of a call in place.
///
/// Where malloc is interposed, needs `ALLOCTAP_DEFINE_INTERPOSED_STRINGS(Tracker)`
/// (hook/interposed_strings.hpp) in the source file that does so. On Windows the calls are those
/// that modules make through their tables of imports (hook/windows/string_slots.hpp), until the
/// tracker stops; not those into a C library that is linked in, as GCC's own printf is in C++, nor
/// the values that a format of wchar_t prints there.
struct StringChecks {
  static constexpr CheckNeeds needs{.owns_every_free = true};
  static constexpr void apply(CheckSettings& settings) noexcept {
    settings.blocks = true;
    settings.strings = true;
  }
};

static_assert(Check<StringChecks>);

}  // namespace alloctap
