/// Where the stacks of threads are, and where their storage.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/frozen_process.hpp"
#include "alloctap/snapshot/reach/address_ranges.hpp"
#include "alloctap/snapshot/reach/scan_layout.hpp"

namespace alloctap {

/// The stacks and the thread-local storage of the threads that were seen.
///
/// A system may describe a stack and other memory that happens to lie beside it as one region, so
/// what is in use of a stack reaches from the stack pointer to the next block above, or the
/// region's end. The storage lies around the thread pointer, above the outermost frame for the most
/// part.
class ThreadPlaces {
 public:
  /// What functions may keep below the stack pointer (System V ABI for x86-64, section 3.2.2).
  static constexpr std::size_t kRedZone = 128;

  explicit ThreadPlaces(const ScanLayout& layout) noexcept : layout_(layout) {}

  /// Once; false where the system has no memory for it.
  [[nodiscard]] bool find() noexcept {
    for (const os::ThreadRegisters& thread : layout_.threads) {
      if (thread.seen && !(add_stack(thread) && add_storage(thread))) return false;
    }
    used_.settle();
    unused_.settle();
    return true;
  }

  /// Memory that is in use.
  [[nodiscard]] const AddressRanges& used() const noexcept { return used_; }

  /// The other ends of stacks, where pointers are left over from calls that are long past.
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

  /// Whether `below`, the part of `region` below the stack pointer, is nothing but stack: that of
  /// the main thread, or one that begins behind a guard page, ends with its thread's storage, and
  /// is no other thread's too, nor cut from something larger.
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
