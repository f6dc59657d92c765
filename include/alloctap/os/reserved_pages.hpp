/// Reserved address space whose pages are made accessible and inaccessible one by one.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace alloctap::os {

/// Limits of the address space; SIZE_MAX if unlimited.
struct AddressLimits {
  /// Bytes of all mappings together.
  std::size_t bytes = SIZE_MAX;
  /// Number of ranges with different protection.
  std::size_t ranges = SIZE_MAX;
};

AddressLimits address_limits() noexcept;

/// Concept of each system's `ReservedPages`. Constant-initialized; the destructor frees nothing.
/// Addresses and sizes are whole pages.
///
/// Every function may run inside malloc and bypasses symbols that a hook backend replaces; `open`
/// may run in a signal handler. `prepare`, `open` and `close` are thread-safe for different pages.
/// errno may change.
template <class T>
concept PageReserve = requires(T reserve, const T& reserved, void* address, std::size_t bytes) {
  /// Reserves inaccessible addresses without memory. Returns false if the system refuses. Called
  /// once.
  { reserve.reserve(bytes) } noexcept -> std::same_as<bool>;
  /// Frees the whole reservation.
  { reserve.unreserve() } noexcept;
  /// Start and size of the reservation; nullptr and 0 if nothing is reserved.
  { reserved.begin() } noexcept -> std::same_as<std::byte*>;
  { reserved.bytes() } noexcept -> std::same_as<std::size_t>;
  /// Prepares pages, still inaccessible, before their first `open`, so that `open` and `close` are
  /// as cheap as the system allows. Cheapest for many pages at once.
  { reserve.prepare(address, bytes) } noexcept;
  /// Makes prepared pages readable and writable; pages that were closed are zero. Returns false if
  /// the system refuses.
  { reserve.open(address, bytes) } noexcept -> std::same_as<bool>;
  /// Makes prepared pages inaccessible and discards their contents and memory. Returns false
  /// without an effect if the system refuses.
  { reserve.close(address, bytes) } noexcept -> std::same_as<bool>;
  /// Returns whether each open page is a range that counts for `AddressLimits::ranges`. May change
  /// from false to true.
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
