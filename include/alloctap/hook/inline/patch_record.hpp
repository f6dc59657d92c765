/// Registry of all functions ever patched in this process.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/arch/entry_patch.hpp"
#include "alloctap/os/memory_protection.hpp"
#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

/// Record of one patched function. It lies in the function's island and is never freed, because
/// threads may enter the trampoline, or trap, at any later time. A later patch reuses it.
struct PatchRecord {
  /// Address that the stub jumps to: the replacement, or the trampoline while not patched.
  std::atomic<std::uintptr_t> destination{0};
  arch::EntryPatch patch;
  /// Protection of the pages that hold the first and the last patched byte.
  os::Protection first_page;
  os::Protection last_page;
  bool in_use = false;
  bool enabled = false;
  PatchRecord* next = nullptr;
};

/// Linked list of all records. Lookups are lock-free, because signal handlers perform them; other
/// access requires `lock`.
class PatchRecords {
 public:
  /// Held while functions are prepared, patched and restored.
  static inline constinit FutexLock lock;

  static void add(PatchRecord& record) noexcept {
    record.next = head_.load(std::memory_order_relaxed);
    head_.store(&record, std::memory_order_release);
  }

  /// Returns the record whose patch has equal code, or nullptr.
  static PatchRecord* find(const arch::EntryPatch& patch) noexcept {
    for (PatchRecord* record = head_.load(std::memory_order_acquire); record != nullptr;
         record = record->next) {
      if (record->patch.displaces_same(patch)) return record;
    }
    return nullptr;
  }

  /// Returns the record of the enabled patch that covers `address`, or nullptr.
  static PatchRecord* find_enabled(std::uintptr_t address) noexcept {
    for (PatchRecord* record = head_.load(std::memory_order_acquire); record != nullptr;
         record = record->next) {
      const bool covers = address >= record->patch.start() && address < record->patch.end();
      if (record->enabled && covers) return record;
    }
    return nullptr;
  }

  /// Callback for `os::catch_traps`. Returns the address to resume at, or 0 for a foreign trap.
  static std::uintptr_t resume_place(std::uintptr_t place) noexcept {
    for (const PatchRecord* record = head_.load(std::memory_order_acquire); record != nullptr;
         record = record->next) {
      if (const std::uintptr_t next = record->patch.resume_place(place); next != 0) return next;
    }
    return 0;
  }

 private:
  static inline constinit std::atomic<PatchRecord*> head_{nullptr};
};

}  // namespace alloctap
