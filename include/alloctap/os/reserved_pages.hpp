/// Addresses that are set aside, whose pages can be used and made inaccessible again one by one.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace alloctap::os {

/// What the system lets a process have; SIZE_MAX where there is no bound.
struct AddressLimits {
  /// Of all mappings together.
  std::size_t bytes = SIZE_MAX;
  /// How many ranges with different access.
  std::size_t ranges = SIZE_MAX;
};

AddressLimits address_limits() noexcept;

/// What each system's `ReservedPages` is. Constant-initialized; its destructor gives nothing back.
/// Addresses and bytes are whole pages.
///
/// Every function may run inside malloc and never goes through a symbol that a hook backend
/// replaces; `open` may run in a signal handler. `prepare`, `open` and `close` are thread-safe for
/// different pages. errno may change.
template <class T>
concept PageReserve = requires(T reserve, const T& reserved, void* address, std::size_t bytes) {
  /// Reserves addresses that cannot be accessed and cost no memory. Returns false if the system
  /// refuses. To be called once.
  { reserve.reserve(bytes) } noexcept -> std::same_as<bool>;
  /// Gives them all back.
  { reserve.unreserve() } noexcept;
  /// What was set aside; nullptr and 0 where nothing is.
  { reserved.begin() } noexcept -> std::same_as<std::byte*>;
  { reserved.bytes() } noexcept -> std::same_as<std::size_t>;
  /// Before pages are opened for the first time: makes `open` and `close` as cheap as the system
  /// can, best for many pages at once. They stay inaccessible.
  { reserve.prepare(address, bytes) } noexcept;
  /// Makes prepared pages readable and writable; those that were not are zero. False where the
  /// system refuses.
  { reserve.open(address, bytes) } noexcept -> std::same_as<bool>;
  /// Makes prepared pages inaccessible; what was in them is lost and costs no memory. False
  /// where the system refuses, and they stay as they were.
  { reserve.close(address, bytes) } noexcept -> std::same_as<bool>;
  /// Whether an open page is a range of its own, one of `AddressLimits::ranges`. May become
  /// true.
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
