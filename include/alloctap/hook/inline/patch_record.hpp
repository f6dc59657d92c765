/// All functions that were ever patched in this process.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/arch/entry_patch.hpp"
#include "alloctap/os/memory_protection.hpp"
#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

/// One function. Lies in its island and is never removed: threads may be in the trampoline, or be
/// about to trap, at any later time. The same function is patched again by the same record.
struct PatchRecord {
  /// Where the function's calls go while it is patched. What the stub jumps through.
  std::atomic<std::uintptr_t> destination{0};
  arch::EntryPatch patch;
  /// Of the page with the first byte that changes, and of the page with the last.
  os::Protection first_page;
  os::Protection last_page;
  bool in_use = false;
  bool enabled = false;
  PatchRecord* next = nullptr;
};

/// The list of them. Reading needs no lock, so that signal handlers may; all else under `lock`.
class PatchRecords {
 public:
  /// Held while functions are prepared, patched and restored.
  static inline constinit FutexLock lock;

  static void add(PatchRecord& record) noexcept {
    record.next = head_.load(std::memory_order_relaxed);
    head_.store(&record, std::memory_order_release);
  }

  /// The record for the same code, or nullptr.
  static PatchRecord* find(const arch::EntryPatch& patch) noexcept {
    for (PatchRecord* record = head_.load(std::memory_order_acquire); record != nullptr;
         record = record->next) {
      if (record->patch.displaces_same(patch)) return record;
    }
    return nullptr;
  }

  /// The record whose patch lies over the byte at `address` now, or nullptr.
  static PatchRecord* find_enabled(std::uintptr_t address) noexcept {
    for (PatchRecord* record = head_.load(std::memory_order_acquire); record != nullptr;
         record = record->next) {
      const bool covers = address >= record->patch.start() && address < record->patch.end();
      if (record->enabled && covers) return record;
    }
    return nullptr;
  }

  /// For `os::catch_traps`.
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
