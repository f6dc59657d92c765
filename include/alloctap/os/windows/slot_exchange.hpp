/// Changing single words of modules whose pages may be protected.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// What became of an exchange.
enum class SlotExchange : std::uint8_t {
  kDone,
  /// The word held something else in the end.
  kChanged,
  /// The system does not let its page be written.
  kRefused,
};

/// Whether `protection`, of a page, lets it be written.
inline bool is_writable(DWORD protection) noexcept {
  constexpr DWORD kWritable =
      PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
  return (protection & kWritable) != 0;
}

/// Stores `desired` in `slot`, aligned to its size, if it holds `expected`: other threads read one
/// or the other. The page is writable for that long, and protected as it was afterwards; so only
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
