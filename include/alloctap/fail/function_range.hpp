/// The address range of a function.
#pragma once

#include <cstdint>

#include "alloctap/event/address_range.hpp"
#include "alloctap/pe/native_function.hpp"

namespace alloctap {

/// Returns the code range of `function` for `FailureRule::called_in`:
/// `function_range(&load_level)`. Inlined copies are not in it, nor are parts that the compiler
/// moved elsewhere. Functions with identical code may be merged into one. Returns an empty range,
/// which matches nothing, if the unwind tables do not describe the function. Control plane.
template <class Result, class... Arguments>
[[nodiscard]] AddressRange function_range(Result (*function)(Arguments...)) noexcept {
  const auto place = reinterpret_cast<std::uintptr_t>(function);
  const native::FunctionExtent found = native::find_function_extent(place);
  return {.start = found.begin, .end = found.end};
}

}  // namespace alloctap
