/// Page protection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace alloctap::os {

struct Protection {
  bool readable = false;
  bool writable = false;
  bool executable = false;
  /// Enables branch target checks: BTI, or the list of Control Flow Guard targets, which is kept.
  /// No effect if the processor or system does not check them by page.
  bool guarded = false;
};

/// Sets the protection of the whole pages at `address`. Returns false if the system refuses.
/// Bypasses the C library's function, which another tool may have replaced. errno may change.
bool protect_pages(std::uintptr_t address, std::size_t bytes, Protection protection) noexcept;

/// Returns whether a write to all of `[address, address + bytes)` would succeed, without one.
/// Absent pages may become resident. Inside malloc; a system call for each page at most; preserves
/// errno.
bool may_write(std::uintptr_t address, std::size_t bytes) noexcept;

/// Returns a text on why memory could not become code. Has the system's error if available, and
/// what may have forbidden it. Call it on the thread on which `protect_pages` failed, right after
/// it. Control plane.
std::string why_code_is_forbidden();

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/memory_protection.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/memory_protection.hpp"
#else
#error "alloctap/os/memory_protection.hpp has no implementation for this system"
#endif
