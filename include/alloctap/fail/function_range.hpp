/// The address range of a function.
#pragma once

#include <cstdint>

#include "alloctap/event/address_range.hpp"
#include "alloctap/pe/native_function.hpp"

namespace alloctap {

/// Returns the code range of `function` for `FailureRule::called_in`:
/// `function_range(&load_level)`. The range contains neither inlined copies nor parts that the
/// compiler moved elsewhere (cold code). The linker may merge functions with identical code into
/// one. Returns an empty range, which matches nothing, if `function` has no unwind table entry.
/// Control plane.
template <class Result, class... Arguments>
[[nodiscard]] AddressRange function_range(Result (*function)(Arguments...)) noexcept {
  const auto place = reinterpret_cast<std::uintptr_t>(function);
  const native::FunctionExtent found = native::find_function_extent(place);
  return {.start = found.begin, .end = found.end};
}

}  // namespace alloctap
