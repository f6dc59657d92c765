/// Reserved address space whose pages can be made accessible and inaccessible individually.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace alloctap::os {

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
  /// Reserves inaccessible address space without memory. Called once. Returns false if refused.
  { reserve.reserve(bytes) } noexcept -> std::same_as<bool>;
  /// Frees the whole reservation.
  { reserve.unreserve() } noexcept;
  /// Return start and size of the reservation; nullptr and 0 if nothing is reserved.
  { reserved.begin() } noexcept -> std::same_as<std::byte*>;
  { reserved.bytes() } noexcept -> std::same_as<std::size_t>;
  /// Prepares pages before their first `open`, so that `open` and `close` are as cheap as the
  /// system allows. The pages stay inaccessible. Cheapest if called for many pages at once.
  { reserve.prepare(address, bytes) } noexcept;
  /// Makes prepared pages readable and writable. Pages that were closed before are zero. Returns
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
#include "alloctap/os/linux/reserved_pages.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/reserved_pages.hpp"
#else
#error "alloctap/os/reserved_pages.hpp has no implementation for this system"
#endif
