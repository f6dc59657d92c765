/// The loaded module that holds an address.
#pragma once

#include <cstdint>

namespace alloctap::os {

/// An executable or a library in memory. `start` is 0 where there is none.
struct LoadedModule {
  /// The first byte of the module's file, mapped and readable for a page at least.
  std::uintptr_t start = 0;
  /// Beyond the address that was asked for, and at most the end of the module.
  std::uintptr_t end = 0;
  /// The address of the module's unwind tables (on ELF systems, of .eh_frame_hdr); 0 where the
  /// system does not tell.
  std::uintptr_t unwind_tables = 0;
};

/// Returns the module that holds `address`; an empty one for code that was not loaded from a file,
/// such as a JIT compiler's. Takes no lock, allocates nothing; may run inside malloc and inside a
/// signal handler. The answer holds as long as the module stays loaded, which is the caller's
/// affair: a return address on the caller's own stack keeps it loaded. errno may change.
LoadedModule find_module(std::uintptr_t address) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/find_module.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/find_module.hpp"
#else
#error "alloctap/os/find_module.hpp has no implementation for this system"
#endif
