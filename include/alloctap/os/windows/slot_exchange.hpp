/// Compare-and-exchange of a word in a module whose page may be protected.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// Result of an exchange.
enum class SlotExchange : std::uint8_t {
  kDone,
  /// The word held a value other than the expected one.
  kChanged,
  /// The system does not allow writes to the page.
  kRefused,
};

/// Returns true if a page with `protection` is writable.
inline bool is_writable(DWORD protection) noexcept {
  constexpr DWORD kWritable =
      PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
  return (protection & kWritable) != 0;
}

/// Stores `desired` in `slot` (aligned to its size) if it holds `expected`. Other threads read the
/// old or the new value. Makes a protected page writable and then restores its protection, so only
/// one thread at a time may change words of one page. GetLastError may change.
inline SlotExchange exchange_slot(std::uintptr_t* slot, std::uintptr_t expected,
                                  std::uintptr_t desired) noexcept {
  constexpr DWORD kExecutable = PAGE_EXECUTE | PAGE_EXECUTE_READ;
  MEMORY_BASIC_INFORMATION region;
  if (::VirtualQuery(slot, &region, sizeof region) == 0 || region.State != MEM_COMMIT) {
    return SlotExchange::kRefused;
  }
  const bool is_protected = !is_writable(region.Protect);
  DWORD before = region.Protect;
  if (is_protected) {
    const bool is_code = (region.Protect & kExecutable) != 0;
    const DWORD writable = is_code ? PAGE_EXECUTE_READWRITE : PAGE_READWRITE;
    if (::VirtualProtect(slot, sizeof *slot, writable, &before) == 0) {
      return SlotExchange::kRefused;
    }
  }
  const bool done =
      std::atomic_ref(*slot).compare_exchange_strong(expected, desired, std::memory_order_acq_rel);
  if (is_protected) ::VirtualProtect(slot, sizeof *slot, before, &before);
  return done ? SlotExchange::kDone : SlotExchange::kChanged;
}

}  // namespace alloctap::os
