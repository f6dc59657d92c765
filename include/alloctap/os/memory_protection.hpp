/// Page protection, and reserved address space whose pages open and close individually.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>

namespace alloctap::os {

struct Protection {
  bool readable = false;
  bool writable = false;
  bool executable = false;
  /// Enables branch target checks in these pages: BTI, or Control Flow Guard, whose list of valid
  /// targets stays unchanged. No effect if the processor or system has no such checks by page.
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

/// Limits of the address space; SIZE_MAX if unlimited.
struct AddressLimits {
  /// Bytes of all mappings together.
  std::size_t bytes = SIZE_MAX;
  /// Number of mappings, which are ranges of pages with equal protection.
  std::size_t ranges = SIZE_MAX;
};

AddressLimits address_limits() noexcept;

/// Concept of each system's `ReservedPages`, a reservation of address space. Constant-initialized;
/// the destructor frees nothing. Addresses and sizes are multiples of the page size.
///
/// Every function may run inside malloc, and bypasses libc symbols that a hook backend replaces.
/// `open` may run in a signal handler. `prepare`, `open` and `close` may run concurrently on
/// different pages. errno may change.
template <class T>
concept PageReserve = requires(T reserve, const T& reserved, void* address, std::size_t bytes) {
  /// Reserves inaccessible address space without memory. Called once. Returns false on failure.
  { reserve.reserve(bytes) } noexcept -> std::same_as<bool>;
  /// Frees the whole reservation.
  { reserve.unreserve() } noexcept;
  /// Return start and size of the reservation; nullptr and 0 if nothing is reserved.
  { reserved.begin() } noexcept -> std::same_as<std::byte*>;
  { reserved.bytes() } noexcept -> std::same_as<std::size_t>;
  /// Prepares pages before their first `open`, so that `open` and `close` are as cheap as the
  /// system allows. The pages stay inaccessible. Cheapest if called for many pages at once.
  { reserve.prepare(address, bytes) } noexcept;
  /// Makes prepared pages readable and writable. Pages that were closed before are zeroed. Returns
  /// false if the system refuses.
  { reserve.open(address, bytes) } noexcept -> std::same_as<bool>;
  /// Makes prepared pages inaccessible and frees their memory; the contents are lost. Returns
  /// false, without an effect, if the system refuses.
  { reserve.close(address, bytes) } noexcept -> std::same_as<bool>;
  /// Returns true if each open page is a separate mapping, which counts against the limit
  /// `AddressLimits::ranges`. The result may change from false to true.
  { reserved.splits_ranges() } noexcept -> std::same_as<bool>;
};

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/memory_protection.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/memory_protection.hpp"
#else
#error "alloctap/os/memory_protection.hpp has no implementation for this system"
#endif
