#pragma once

#include "alloctap/os/default_suppressions.hpp"

extern "C" {
// As sanitizer/lsan_interface.h declares it; weak, so that nobody has to define it.
__attribute__((weak, visibility("default"))) const char* __lsan_default_suppressions();
}

namespace alloctap::os {

inline const char* default_suppressions() noexcept {
  const auto function = &::__lsan_default_suppressions;
  return function == nullptr ? nullptr : function();
}

}  // namespace alloctap::os
