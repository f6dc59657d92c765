#pragma once

#include "alloctap/macros.hpp"
#include "alloctap/os/default_suppressions.hpp"

extern "C" {
// As in sanitizer/lsan_interface.h, but weak, because a program need not define the function.
ALLOCTAP_WEAK ALLOCTAP_EXPORT const char* __lsan_default_suppressions();
}

namespace alloctap::os {

inline const char* default_suppressions() noexcept {
  const auto function = &::__lsan_default_suppressions;
  return function == nullptr ? nullptr : function();
}

}  // namespace alloctap::os
