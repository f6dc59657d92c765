/// The roots of a leak scan, and the parts of thread stacks that are no roots.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/os/frozen_process.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/snapshot/reach/scan_layout.hpp"
#include "alloctap/stack/full_unwind_stack.hpp"

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

/// Selects the ranges that are roots: data of modules, and writable memory that contains no blocks
/// of an allocator. In an allocator's memory, only stacks, thread-local storage and memory that the
/// program mapped are roots. Blocks are never roots, because only reachable blocks are scanned.
///
/// Memory of unknown use is a root. So a leak may be missed, but no reachable block is reported.
class ScanRoots {
 public:
  /// Stores a reference to `layout`, whose sets must be settled.
  explicit ScanRoots(const ScanLayout& layout) noexcept : layout_(layout), places_(layout) {}

  /// Finds stacks and thread-local storage. Call it first. Returns false if out of memory.
  [[nodiscard]] bool find() noexcept { return places_.find(); }

  /// Calls `visit(AddressRange)` for each range of roots.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const ScanRegion& region : layout_.regions) {
      if (!may_hold_pointers(region)) continue;
      layout_.modules.for_each_inside(region.range,
                                      [&](AddressRange part) { visit_part(part, visit); });
      layout_.modules.for_each_outside(region.range, [&](AddressRange part) {
        if (is_allocators(region, part)) {
          visit_known(part, visit);
        } else {
          visit_part(part, visit);
        }
      });
    }
  }

 private:
  [[nodiscard]] bool may_hold_pointers(const ScanRegion& region) const noexcept {
    if (region.is_protected) return !region.executable;
    if (!region.readable) return false;
    return region.writable || (region.anonymous && !region.executable) || was_writable(region);
  }

  /// Returns whether the loader made the region read-only after relocation (RELRO). Uses the
  /// module's program headers. If unknown, tests whether writable memory of a module follows.
  [[nodiscard]] bool was_writable(const ScanRegion& region) const noexcept {
    if (region.for_writing) return *region.for_writing && !region.executable;
    const ScanRegion* const next = &region + 1;
    return !region.shared && !region.executable && next != layout_.regions.end() &&
           next->range.start == region.range.end && next->writable &&
           layout_.modules.touches(region.range) && layout_.modules.touches(next->range);
  }

  [[nodiscard]] bool is_allocators(const ScanRegion& region, AddressRange part) const noexcept {
    return layout_.all_blocks_known && region.anonymous && !region.shared && !region.main_stack &&
           layout_.holds_blocks(part);
  }

  template <class Visit>
  void visit_known(AddressRange part, Visit& visit) const {
    const auto visit_inside = [&](AddressRange inside) { visit_part(inside, visit); };
    layout_.programs.for_each_inside(part, visit_inside);
    places_.used().for_each_inside(part, visit_inside);
  }

  template <class Visit>
  void visit_part(AddressRange part, Visit& visit) const {
    layout_.left_out.for_each_outside(part, [&](AddressRange own_left_out) {
      places_.unused().for_each_outside(
          own_left_out, [&](AddressRange used) { visit_between_blocks(used, visit); });
    });
  }

  template <class Visit>
  void visit_between_blocks(AddressRange range, Visit& visit) const {
    const ScannedBlock* const end = layout_.blocks.data() + layout_.blocks.size();
    std::uintptr_t start = range.start;
    for (const ScannedBlock* block = layout_.first_block_behind(start);
         block != end && block->start < range.end; ++block) {
      if (start < block->start) visit(AddressRange{start, block->start});
      start = block->end();
    }
    if (start < range.end) visit(AddressRange{start, range.end});
  }

  const ScanLayout& layout_;
  ThreadPlaces places_;
};

/// Finds cached stacks of ended threads, which glibc reuses for new threads. They are excluded from
/// the roots, because their contents are stale.
///
/// A cached stack begins behind a guard page, and no thread runs on it. At its upper end lies the
/// thread descriptor (nptl/descr.h, struct pthread). Three words of the descriptor must match: the
/// begin of the mapping, its size, and the size of the guard. Memory from the descriptor on remains
/// a root. The descriptor holds the result of a thread that is not joined yet, or the argument of a
/// thread about to start. If the thread was joined, only the beginning of the descriptor remains a
/// root, because glibc reuses the descriptor.
///
/// `Memory` provides `visit_pieces` as `CopiedMemory` does. Not thread-safe.
template <class Memory>
class EndedThreads {
 public:
  /// Stores references to `layout` and `memory`.
  EndedThreads(ScanLayout& layout, Memory& memory) noexcept : layout_(layout), memory_(memory) {}

  /// Adds the stacks of ended threads to `left_out`. Precondition: `programs` is settled. Returns
  /// false if out of memory.
  [[nodiscard]] bool leave_out() noexcept {
    // Skips the search if a thread was not seen, because its stack would look like a cached one.
    if (!layout_.all_threads_seen) return true;
    bool complete = true;
    for (const ScanRegion& region : layout_.regions) {
      if (!may_be_stack(region)) continue;
      joined_ = {};
      const AddressRange stack{region.range.start, find_description(region.range)};
      const bool is_free = !layout_.holds_blocks(stack) && !layout_.programs.touches(stack);
      if (stack.empty() || !is_free) continue;
      complete = layout_.left_out.add(stack) && layout_.left_out.add(joined_) && complete;
    }
    return complete;
  }

 private:
  using Words = std::span<const std::uintptr_t>;

  static constexpr std::size_t kWord = sizeof(std::uintptr_t);
  /// Maximum number of words between the descriptor's begin and the three words that must match.
  static constexpr std::size_t kMaxBefore = 512;
  /// Offset of the thread id in a descriptor. Applies if the descriptor's first word is the
  /// descriptor's own address.
  static constexpr std::size_t kIdOffset = 720;
  /// If the descriptor's begin is unknown, this many words before the three words remain a root.
  static constexpr std::size_t kLeastBefore = 16;

  [[nodiscard]] bool may_be_stack(const ScanRegion& region) const noexcept {
    const bool is_plain = region.readable && region.writable && region.anonymous &&
                          !region.shared && !region.main_stack;
    if (!is_plain || !layout_.is_behind_guard(region)) return false;
    return std::none_of(layout_.threads.begin(), layout_.threads.end(),
                        [&region](const os::ThreadRegisters& thread) {
                          return region.holds(thread.stack_pointer) ||
                                 region.holds(thread.thread_pointer);
                        });
  }

  /// Returns the address of the descriptor, or the begin of the stack if it has no descriptor.
  std::uintptr_t find_description(AddressRange stack) noexcept {
    std::uintptr_t found = stack.start;
    memory_.visit_pieces(stack, [&](std::uintptr_t at, Words words) {
      if (found == stack.start) found = find_description(stack, at, words);
    });
    return found;
  }

  std::uintptr_t find_description(AddressRange stack, std::uintptr_t at, Words words) noexcept {
    for (std::size_t i = 0; i + 2 < words.size(); ++i) {
      const std::uintptr_t address = at + i * kWord;
      const std::uintptr_t mapping = words[i];
      const std::uintptr_t end = mapping + words[i + 1];
      const bool fits = mapping < stack.start && mapping + words[i + 2] == stack.start &&
                        end > address && end <= stack.end;
      if (!fits) continue;
      const std::uintptr_t begin = begin_of_description(at, words, i);
      if (was_joined(at, words, begin)) joined_ = {begin + kIdOffset, end};
      return begin;
    }
    return stack.start;
  }

  /// Returns the begin of the descriptor. If the thread pointer addresses the descriptor, the first
  /// and the third word of the descriptor hold the descriptor's address. Otherwise assumes that the
  /// descriptor begins `kLeastBefore` words before the three words.
  static std::uintptr_t begin_of_description(std::uintptr_t at, Words words,
                                             std::size_t three) noexcept {
    const std::size_t most = std::min(three, kMaxBefore);
    for (std::size_t before = 0; before <= most; ++before) {
      const std::size_t i = three - before;
      const std::uintptr_t address = at + i * kWord;
      if (words[i] == address && words[i + 2] == address) return address;
    }
    return at + (three - std::min(three, kLeastBefore)) * kWord;
  }

  /// Returns whether the thread was joined, which sets its id to -1. Returns false if the first
  /// word of the descriptor is not the descriptor's address.
  static bool was_joined(std::uintptr_t at, Words words, std::uintptr_t begin) noexcept {
    const std::size_t first = (begin - at) / kWord;
    const std::size_t id = first + kIdOffset / kWord;
    return words[first] == begin && id < words.size() &&
           static_cast<std::uint32_t>(words[id]) == 0xffffffff;
  }

  ScanLayout& layout_;
  Memory& memory_;
  /// If the last found thread was joined: the range from the thread id in its descriptor on.
  AddressRange joined_;
};

/// Unwinds a thread from the tracker's frames to the program's frames. The thread writes a report
/// or waits for a report. The tracker's frames must not be roots, because unused slots in them may
/// hold stale pointers to lost blocks.
///
/// Runs in the forked copy of the process, or while other threads are stopped. Not thread-safe.
class ProgramFrames {
 public:
  /// `tracker` is the range of code that contains only the tracker, or empty if unknown.
  /// `c_library` is the range that contains `exit`, which runs the tracker's exit handlers.
  ProgramFrames(AddressRange tracker, AddressRange c_library) noexcept
      : tracker_(tracker), c_library_(c_library) {}

  /// Sets the registers in `thread` to their values at the entry to the tracker, if a signal
  /// entered the tracker or if `needs_no_arguments`. Otherwise leaves them unchanged, because
  /// argument registers of the program's call may hold the only pointer to a block. Also leaves
  /// them unchanged if the thread is outside the tracker or if unwinding fails.
  void leave_tracker(os::ThreadRegisters& thread, bool needs_no_arguments) noexcept {
    if (tracker_.empty() || thread.general_count < arch::DwarfRegisters::kCount) return;
    begin(thread);
    if (!find_caller()) return;
    const bool by_call = !leave_signal_frame();
    if (by_call && !needs_no_arguments) return;
    if (by_call) leave_exit();
    thread.has_red_zone = !by_call;
    set_registers(thread);
  }

 private:
  using Registers = arch::DwarfRegisters;
  using Outcome = RegisterWalk::Outcome;

  void begin(const os::ThreadRegisters& thread) noexcept {
    arch::RegisterValues values;
    std::copy_n(thread.values.begin(), values.size(), values.begin());
    walk_.begin(values[Registers::kProgramCounter], values);
  }

  /// Unwinds to the caller of the tracker. Returns false if the thread is outside the tracker. The
  /// innermost frame may be a system call in which the tracker waits.
  [[nodiscard]] bool find_caller() noexcept {
    constexpr int kMaxFrames = 64;
    bool inside = is_in(tracker_);
    for (int i = 0; i < kMaxFrames && (inside || i < 1); ++i) {
      if (walk_.step() != Outcome::kCaller) return false;
      if (inside && !is_in(tracker_)) return true;
      inside = is_in(tracker_);
    }
    return false;
  }

  /// Unwinds from the C library to the caller of `exit`, or to `_start` if `main` returned. The C
  /// library calls the tracker only from exit handlers and in the tracker's threads.
  void leave_exit() noexcept {
    constexpr int kMaxFrames = 8;
    for (int i = 0; i < kMaxFrames && is_in(c_library_); ++i) {
      if (walk_.step() != Outcome::kCaller) return;
    }
  }

  /// Unwinds a signal frame to the interrupted instruction. Returns false for any other frame.
  [[nodiscard]] bool leave_signal_frame() noexcept {
    RegisterWalk interrupted = walk_;
    if (interrupted.step() != Outcome::kCaller || !interrupted.pc_is_exact()) return false;
    walk_ = interrupted;
    return true;
  }

  void set_registers(os::ThreadRegisters& thread) const noexcept {
    for (std::size_t number = 0; number < Registers::kCount; ++number) {
      thread.values[number] = walk_.registers().get(number).value_or(0);
    }
    thread.stack_pointer = thread.values[Registers::kStackPointer];
  }

  [[nodiscard]] bool is_in(AddressRange code) const noexcept {
    return walk_.pc() >= code.start && walk_.pc() < code.end;
  }

  AddressRange tracker_;
  AddressRange c_library_;
  RegisterWalk walk_;
};

}  // namespace alloctap
