/// What may be done with pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace alloctap::os {

struct Protection {
  bool readable = false;
  bool writable = false;
  bool executable = false;
  /// Branches through pointers must lead to landing pads there, or to what the system has listed,
  /// and the list stays. Goes by without effect where the processor or the system does not check
  /// that, or not by page.
  bool guarded = false;
};

/// Sets what may be done with the whole pages at `address`; false where the system refuses. The C
/// library's function is not called: another tool may have replaced it. errno may change.
bool protect_pages(std::uintptr_t address, std::size_t bytes, Protection protection) noexcept;

/// Whether this thread can write all of `[address, address + bytes)`, as a write itself would find:
/// pages that are not there come in. What is there stays as it is. Inside malloc; a system call for
/// each page; keeps errno.
bool may_write(std::uintptr_t address, std::size_t bytes) noexcept;

/// Why memory could not become code, right after `protect_pages` was refused that on this thread:
/// as much as the system tells, and what may have forbidden it. For messages; control plane.
std::string why_code_is_forbidden();

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/memory_protection.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/memory_protection.hpp"
#else
#error "alloctap/os/memory_protection.hpp has no implementation for this system"
#endif
