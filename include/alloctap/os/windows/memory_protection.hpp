/// Page protection by VirtualProtect, reserved pages, and exchange of words in protected pages.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/memory_protection.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/errors.hpp"
#include "alloctap/os/windows/virtual_memory.hpp"

namespace alloctap::os {

inline DWORD page_protection(Protection protection) noexcept {
  if (protection.executable) {
    const DWORD listed = protection.guarded ? PAGE_TARGETS_NO_UPDATE : 0;
    if (protection.writable) return PAGE_EXECUTE_READWRITE | listed;
    return (protection.readable ? PAGE_EXECUTE_READ : PAGE_EXECUTE) | listed;
  }
  if (protection.writable) return PAGE_READWRITE;
  return protection.readable ? PAGE_READONLY : PAGE_NOACCESS;
}

inline bool protect_pages(std::uintptr_t address, std::size_t bytes,
                          Protection protection) noexcept {
  const std::uintptr_t end = address + bytes;
  // VirtualProtect cannot cross allocations, and each 64 KiB step may be a separate allocation.
  for (std::uintptr_t start = address; start < end;) {
    const std::uintptr_t stop = std::min(end, AddressSteps::step_of(start) + AddressSteps::kBytes);
    DWORD before = 0;
    if (::VirtualProtect(reinterpret_cast<void*>(start), stop - start, page_protection(protection),
                         &before) == 0) {
      return false;
    }
    start = stop;
  }
  return true;
}

inline bool may_write(std::uintptr_t address, std::size_t bytes) noexcept {
  constexpr DWORD kWritable =
      PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
  const ErrnoGuard preserve_error;
  MEMORY_BASIC_INFORMATION region;
  for (std::uintptr_t at = address; at < address + bytes;) {
    if (::VirtualQuery(reinterpret_cast<void*>(at), &region, sizeof region) == 0) return false;
    const bool is_guard = (region.Protect & PAGE_GUARD) != 0;
    if (region.State != MEM_COMMIT || is_guard || (region.Protect & kWritable) == 0) return false;
    at = reinterpret_cast<std::uintptr_t>(region.BaseAddress) + region.RegionSize;
  }
  return true;
}

/// Returns a text such as "error 5: Access is denied.; ..." for the error in GetLastError.
inline std::string why_code_is_forbidden() {
  const DWORD error = ::GetLastError();
  return "error " + std::to_string(error) + ": " + WindowsErrorTexts::find(error) +
         "; the process's policy on dynamic code may forbid it";
}

class ReservedPages {
 public:
  constexpr ReservedPages() noexcept = default;

  bool reserve(std::size_t bytes) noexcept {
    begin_ = static_cast<std::byte*>(::VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS));
    bytes_ = begin_ == nullptr ? 0 : bytes;
    return begin_ != nullptr;
  }

  void unreserve() noexcept {
    ::VirtualFree(begin_, 0, MEM_RELEASE);
    begin_ = nullptr;
    bytes_ = 0;
  }

  [[nodiscard]] std::byte* begin() const noexcept { return begin_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  void prepare(void*, std::size_t) noexcept {}

  bool open(void* address, std::size_t bytes) noexcept {
    return ::VirtualAlloc(address, bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr;
  }

  bool close(void* address, std::size_t bytes) noexcept {
    return ::VirtualFree(address, bytes, MEM_DECOMMIT) != 0;
  }

  [[nodiscard]] bool splits_ranges() const noexcept { return true; }

 private:
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

inline AddressLimits address_limits() noexcept { return {}; }

/// Result of `exchange_slot`.
enum class SlotExchange : std::uint8_t {
  kDone,
  /// The word held a value other than the expected one.
  kChanged,
  /// The system does not allow writes to the page.
  kRefused,
};

inline bool is_writable(DWORD protection) noexcept {
  constexpr DWORD kWritable =
      PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
  return (protection & kWritable) != 0;
}

/// Stores `desired` in `slot`, an aligned word in a module, if the word equals `expected`. Other
/// threads read the old or the new value. Makes a protected page writable and then restores its
/// protection, so only one thread at a time may change words of one page. GetLastError may change.
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
