/// Lookup of the loaded module that contains an address.
#pragma once

#include <cstdint>

namespace alloctap::os {

/// A mapped executable or library. `start` is 0 if no module was found.
struct LoadedModule {
  /// Address at which the module's file begins. At least one page from here is readable.
  std::uintptr_t start = 0;
  /// An address above the queried one and at most the end of the module.
  std::uintptr_t end = 0;
  /// Address of the unwind tables (on ELF, .eh_frame_hdr); 0 if the system does not provide it.
  std::uintptr_t unwind_tables = 0;
};

/// Returns the module that contains `address`; an empty module for code not loaded from a file,
/// such as JIT code. Takes no lock and allocates nothing; may run inside malloc and inside a signal
/// handler. The result is valid only while the module stays loaded, which the caller must ensure. A
/// return address on the caller's stack keeps its module loaded. errno may change.
LoadedModule find_module(std::uintptr_t address) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/find_module.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/find_module.hpp"
#else
#error "alloctap/os/find_module.hpp has no implementation for this system"
#endif
