/// Registry of patched functions, and allocator of the memory for their stubs and trampolines.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "alloctap/arch/entry_patch.hpp"
#include "alloctap/arch/patch_refusal.hpp"
#include "alloctap/hook/module_selection.hpp"
#include "alloctap/os/memory_protection.hpp"
#include "alloctap/os/patched_code.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

/// Record of one patched function, stored behind the function's stub and trampoline. Never freed,
/// because threads may enter the trampoline, or trap, at any later time. A later patch of the
/// function reuses the record.
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

/// Linked list of the records of all functions ever patched in this process. Lookups are lock-free,
/// because signal handlers perform them; other access requires `lock`.
class PatchRecords {
 public:
  /// Held while functions are prepared, patched and restored.
  static inline constinit FutexLock lock;

  static void add(PatchRecord& record) noexcept {
    record.next = head_.load(std::memory_order_relaxed);
    head_.store(&record, std::memory_order_release);
  }

  /// Returns the record whose patch displaces equal instructions at the same address, or nullptr.
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

/// Result of `PatchIslandMaker::make`: `record`, or the reason why `record` is null. If
/// `may_not_execute` is true, the system lets no memory become executable. Otherwise `refusal` is
/// the reason; kNone means that no memory in reach was free.
struct PatchIsland {
  PatchRecord* record = nullptr;
  arch::PatchRefusal refusal = arch::PatchRefusal::kNone;
  bool may_not_execute = false;
};

/// Allocator of three pages within reach of a jump, for one function: two for code, one for the
/// record. Code is written before its page becomes executable, and never after. No two functions
/// share a page, because threads may run code in the page while another function is patched.
class PatchIslandMaker {
 public:
  /// `regions` saves system calls for occupied addresses, and may be out of date.
  PatchIslandMaker(const arch::EntryPatch& patch, const MemoryRegions& regions) noexcept
      : patch_(patch), regions_(regions) {}

  PatchIsland make() noexcept {
    patch_.visit_places([this](std::uintptr_t place) { return try_place(place); });
    return island_;
  }

 private:
  bool try_place(std::uintptr_t place) noexcept {
    const std::uintptr_t page = os::page_size();
    const std::uintptr_t pages = place & ~(page - 1);
    const std::uintptr_t bytes = (kCodePages + 1) * page;
    const os::MemoryRegion* region = regions_.find(pages);
    if (region != nullptr && !region->reserved) return false;
    if (!os::map_pages_at(pages, bytes)) return false;
    if (fill(pages, place)) return true;
    os::unmap_pages(reinterpret_cast<void*>(pages), bytes);
    // Ends the search if no memory may become executable, because other addresses would fail too.
    return island_.may_not_execute;
  }

  bool fill(std::uintptr_t pages, std::uintptr_t place) noexcept {
    const std::size_t code_bytes = kCodePages * os::page_size();
    const std::uintptr_t data = pages + code_bytes;
    const std::span<std::byte, arch::EntryPatch::kIslandBytes> room(
        reinterpret_cast<std::byte*>(place), arch::EntryPatch::kIslandBytes);
    island_.refusal = patch_.write_island(room, place, data);
    if (island_.refusal != arch::PatchRefusal::kNone) return false;
    island_.may_not_execute =
        !os::protect_pages(pages, code_bytes, {.readable = true, .executable = true});
    if (island_.may_not_execute) return false;
    island_.record = new (reinterpret_cast<void*>(data)) PatchRecord;
    describe(data + sizeof(PatchRecord));
    island_.record->patch = patch_;
    // Stores the destination now, because a processor may speculatively follow the stub's jump.
    island_.record->destination.store(patch_.trampoline(), std::memory_order_relaxed);
    return true;
  }

  /// Writes unwind data for relocated instructions behind the record. Failure is ignored, because
  /// the patch works without unwind data.
  void describe(std::uintptr_t room) noexcept {
    constexpr std::uintptr_t kAlignment = alignof(std::uint64_t);
    room = (room + kAlignment - 1) & ~(kAlignment - 1);
    const std::uintptr_t page = os::page_size();
    std::array<os::MovedInstruction, arch::EntryPatch::kMaxMoved> moved{};
    std::size_t count = 0;
    patch_.visit_moved([&](std::uintptr_t from, std::uintptr_t to, std::uintptr_t to_end) {
      moved[count++] = {from, to, to_end};
    });
    const std::span<std::byte> behind(reinterpret_cast<std::byte*>(room), page - room % page);
    static_cast<void>(os::describe_moved_code(std::span(moved).first(count), behind));
  }

  static constexpr std::size_t kCodePages = 2;

  arch::EntryPatch patch_;
  const MemoryRegions& regions_;
  PatchIsland island_;
};

}  // namespace alloctap
