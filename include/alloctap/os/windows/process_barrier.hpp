/// Availability of FlushProcessWriteBuffers, which interrupts every processor that runs a thread of
/// this process; a return from an interrupt serializes. In Wine 8 it does nothing.
#pragma once

#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

inline bool is_wine() noexcept {
  const HMODULE system = ::GetModuleHandleW(L"ntdll.dll");
  return ::GetProcAddress(system, "wine_get_version") != nullptr;
}

inline bool has_process_barrier() noexcept { return !is_wine(); }

}  // namespace alloctap::os
