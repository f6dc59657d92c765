/// Naming a function for a rule of failures.
#pragma once

#include <cstdint>

#include "alloctap/event/address_range.hpp"
#include "alloctap/pe/native_function.hpp"

namespace alloctap {

/// The code of `function`, for `FailureRule::called_in`: `function_range(&load_level)`. A function
/// that the compiler puts into its callers has none there. Empty, so that nothing is in it, where
/// the unwind tables do not tell; parts that the compiler put elsewhere are left out, and functions
/// of the same code may have become one. Control plane.
template <class Result, class... Arguments>
[[nodiscard]] AddressRange function_range(Result (*function)(Arguments...)) noexcept {
  const auto place = reinterpret_cast<std::uintptr_t>(function);
  const native::FunctionExtent found = native::find_function_extent(place);
  return {.start = found.begin, .end = found.end};
}

}  // namespace alloctap
