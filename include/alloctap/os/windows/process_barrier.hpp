/// Availability of FlushProcessWriteBuffers, a process-wide barrier: interrupts all processors that
/// run this process, and a return from an interrupt serializes. No effect in Wine 8.
#pragma once

#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

inline bool is_wine() noexcept {
  const HMODULE system = ::GetModuleHandleW(L"ntdll.dll");
  return ::GetProcAddress(system, "wine_get_version") != nullptr;
}

inline bool has_process_barrier() noexcept { return !is_wine(); }

}  // namespace alloctap::os
