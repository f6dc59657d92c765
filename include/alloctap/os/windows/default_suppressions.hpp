/// Default suppressions from the program's exports: PE linkers reject undefined weak symbols.
#pragma once

#include "alloctap/os/default_suppressions.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

inline const char* default_suppressions() noexcept {
  const FARPROC function =
      ::GetProcAddress(::GetModuleHandleW(nullptr), "__lsan_default_suppressions");
  if (function == nullptr) return nullptr;
  return reinterpret_cast<const char* (*)()>(reinterpret_cast<void*>(function))();
}

}  // namespace alloctap::os
