/// Page protection: setting it, and testing whether pages are writable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace alloctap::os {

struct Protection {
  bool readable = false;
  bool writable = false;
  bool executable = false;
  /// Enables branch target checks in these pages: BTI, or Control Flow Guard, whose list of valid
  /// targets stays. No effect if the processor or system does not check branch targets by page.
  bool guarded = false;
};

/// Sets the protection of the whole pages at `address`. Returns false if the system refuses.
/// Bypasses the C library's function, which another tool may have replaced. errno may change.
bool protect_pages(std::uintptr_t address, std::size_t bytes, Protection protection) noexcept;

/// Returns true if a write to all of `[address, address + bytes)` would succeed. Does not write.
/// Absent pages may become resident. May run inside malloc; at most one system call per page. Keeps
/// errno.
bool may_write(std::uintptr_t address, std::size_t bytes) noexcept;

/// Returns a text that explains why memory could not be made executable: the system's error if
/// available, and likely causes. Call it on the thread on which `protect_pages` failed, directly
/// after the failure. Control plane.
std::string why_code_is_forbidden();

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/memory_protection.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/memory_protection.hpp"
#else
#error "alloctap/os/memory_protection.hpp has no implementation for this system"
#endif
