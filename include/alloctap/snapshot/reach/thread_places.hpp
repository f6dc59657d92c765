/// Finds the stacks and thread-local storage of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/frozen_process.hpp"
#include "alloctap/snapshot/reach/address_ranges.hpp"
#include "alloctap/snapshot/reach/scan_layout.hpp"

namespace alloctap {

/// The stacks and thread-local storage of all stopped threads.
///
/// The system may report a stack and adjacent memory as one region. The used part of a stack
/// therefore ends at the next block above the stack pointer, or at the region's end. Thread-local
/// storage lies around the thread pointer, mostly above the outermost frame.
class ThreadPlaces {
 public:
  /// Bytes below the stack pointer that leaf functions use (System V ABI for x86-64, 3.2.2).
  static constexpr std::size_t kRedZone = 128;

  explicit ThreadPlaces(const ScanLayout& layout) noexcept : layout_(layout) {}

  /// Finds the ranges. Call it once. Returns false if out of memory.
  [[nodiscard]] bool find() noexcept {
    for (const os::ThreadRegisters& thread : layout_.threads) {
      if (thread.seen && !(add_stack(thread) && add_storage(thread))) return false;
    }
    used_.settle();
    unused_.settle();
    return true;
  }

  /// Returns the used parts of stacks, and thread-local storage.
  [[nodiscard]] const AddressRanges& used() const noexcept { return used_; }

  /// Returns the unused parts of stacks, which hold stale pointers of past calls.
  [[nodiscard]] const AddressRanges& unused() const noexcept { return unused_; }

 private:
  bool add_stack(const os::ThreadRegisters& thread) noexcept {
    const ScanRegion* region = layout_.find_region(thread.stack_pointer);
    if (region == nullptr) return true;
    const std::size_t red_zone = thread.has_red_zone ? kRedZone : 0;
    const std::uintptr_t lowest = std::max(region->range.start, thread.stack_pointer - red_zone);
    const AddressRange around = layout_.between_blocks(region->range, thread.stack_pointer);
    const AddressRange below{region->range.start, lowest};
    return used_.add({std::max(lowest, around.start), around.end}) &&
           (!is_unused(*region, thread, below) || unused_.add(below));
  }

  bool add_storage(const os::ThreadRegisters& thread) noexcept {
    const ScanRegion* region = layout_.find_region(thread.thread_pointer);
    if (region == nullptr) return true;
    AddressRange around = layout_.between_blocks(region->range, thread.thread_pointer);
    const bool on_stack = region == layout_.find_region(thread.stack_pointer) &&
                          thread.stack_pointer < thread.thread_pointer;
    if (on_stack) around.start = std::max(around.start, thread.stack_pointer);
    return used_.add(around);
  }

  /// Returns whether `below`, the part of `region` below the stack pointer, contains nothing but
  /// stack. Returns true for the main thread. For other threads, the region must begin behind a
  /// guard page and contain the thread's storage above the stack. It must contain neither blocks,
  /// nor memory that the program mapped, nor another thread's stack or storage.
  [[nodiscard]] bool is_unused(const ScanRegion& region, const os::ThreadRegisters& thread,
                               AddressRange below) const noexcept {
    if (region.main_stack) return true;
    const bool ends_with_storage =
        thread.thread_pointer > thread.stack_pointer && thread.thread_pointer < region.range.end;
    if (!ends_with_storage || !layout_.is_behind_guard(region) || layout_.holds_blocks(below) ||
        layout_.programs.touches(below)) {
      return false;
    }
    return std::none_of(
        layout_.threads.begin(), layout_.threads.end(), [&](const os::ThreadRegisters& other) {
          return &other != &thread && other.seen &&
                 (region.holds(other.stack_pointer) || region.holds(other.thread_pointer));
        });
  }

  const ScanLayout& layout_;
  AddressRanges used_;
  AddressRanges unused_;
};

}  // namespace alloctap
