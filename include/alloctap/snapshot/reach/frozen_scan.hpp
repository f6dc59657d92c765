/// The leak scan, run on frozen memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/meta/mapping_interval.hpp"
#include "alloctap/os/frozen_process.hpp"
#include "alloctap/pe/native_sections.hpp"
#include "alloctap/record/recorded_data.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/arena_regions.hpp"
#include "alloctap/runtime/bootstrap_arena.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/snapshot/reach/block_index.hpp"
#include "alloctap/snapshot/reach/block_marks.hpp"
#include "alloctap/snapshot/reach/copied_memory.hpp"
#include "alloctap/snapshot/reach/ended_threads.hpp"
#include "alloctap/snapshot/reach/program_frames.hpp"
#include "alloctap/snapshot/reach/reachability.hpp"
#include "alloctap/snapshot/reach/scan_layout.hpp"
#include "alloctap/snapshot/reach/scan_roots.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/symbol/module_table.hpp"

namespace alloctap {

/// The results of a scan, in memory shared with the forked copy.
struct ScanResults {
  enum class State : std::uint32_t { kNotDone, kNoMemory, kNoMemoryMap, kDone };

  std::atomic<State> state{State::kNotDone};
  std::uint64_t unread_bytes = 0;
  /// Number of stacks that fit; the others are summed under `kUnknownStack`.
  std::size_t stacks = 0;

  [[nodiscard]] UnreachableSum* by_stack() noexcept {
    return reinterpret_cast<UnreachableSum*>(this + 1);
  }
};

/// The input of a scan beyond the memory itself.
struct ScanOrder {
  /// The requesting thread comes first.
  std::span<os::ThreadRegisters> threads;
  /// The range of the tracker's code alone; empty if unknown.
  AddressRange tracker_code;
  /// The range of the code of `exit`.
  AddressRange c_library_code;
  /// Memory of the tracker outside the arena.
  std::span<const AddressRange> own_memory;
  /// From the first to the last byte of each module, by ascending address.
  std::span<const Module> modules;
  /// Blocks from before the tracker was installed, as of then.
  std::span<const AddressRange> earlier_blocks;
  /// Pointers that the tracker keeps for the program, outside the program's variables.
  std::span<const std::uintptr_t> kept_pointers;
  bool all_blocks_known = false;
  /// Whether `threads` is complete.
  bool all_threads_seen = false;
  /// Bytes of the program's memory that the copy lacks.
  std::uint64_t unread_bytes = 0;
  ScanResults* results = nullptr;
};

/// Finds the bins of a malloc arena of glibc: 127 circular lists, whose heads are an array
/// (malloc/malloc.c, "struct malloc_state"). A chunk's header overlaps the last usable word of the
/// block before it. A list head therefore points into a live block, which would never count as
/// lost.
///
/// `words` lie at `address`. Returns the range of the array and the arena's members before it, or
/// an empty range. Recognizes the empty lists at its end, whose two words point to two words before
/// themselves. Reads nothing else.
[[nodiscard]] inline AddressRange find_allocator_lists(std::span<const std::uintptr_t> words,
                                                       std::uintptr_t address) noexcept {
  constexpr std::size_t kListWords = 2 * 127;
  constexpr std::size_t kWordsBefore = 14;
  constexpr std::size_t kFewestEmpty = 24;
  constexpr std::size_t kWord = sizeof(std::uintptr_t);
  const auto is_empty_list = [&](std::size_t at) {
    const std::uintptr_t head = address + (at - 2) * kWord;
    return words[at] == head && words[at + 1] == head;
  };
  std::size_t empty = 0;
  std::size_t last = 0;
  for (std::size_t at = 2; at + 1 < words.size();) {
    const bool found = is_empty_list(at);
    if (found && at - last > kListWords) empty = 0;
    if (found) {
      ++empty;
      last = at;
    }
    if (empty >= kFewestEmpty && at - last > kListWords / 2) break;
    at += found ? 2 : 1;
  }
  if (empty < kFewestEmpty) return {};
  const std::size_t end = last + 2;
  const std::size_t before = end > kListWords + kWordsBefore ? end - kListWords - kWordsBefore : 0;
  return {address + before * kWord, address + end * kWord};
}

/// Finds the unreachable blocks of a recorder. Runs in a forked copy of the process, or while all
/// other threads are stopped. All memory from the arena.
class FrozenScan {
 public:
  using State = ScanResults::State;

  FrozenScan(const RecordedData& data, const ScanOrder& order) noexcept
      : data_(data), order_(order) {}

  /// Call once.
  [[nodiscard]] State run() noexcept;

 private:
  using Words = std::span<const std::uintptr_t>;

  [[nodiscard]] std::span<const ScannedBlock> blocks() const noexcept;

  bool read_blocks() noexcept;

  /// Lists the mapped regions. Neither allocates nor frees meanwhile: memory unmapped later must
  /// not be listed, except for the arena's, which is left out.
  bool read_regions(bool& described) noexcept;

  bool add_programs() noexcept;

  bool add_modules() noexcept;

  /// Finds the read-only ranges that `module` declares writable. Reads the mapped headers, because
  /// the file may be deleted.
  void ask_file(AddressRange module) noexcept;

  void leave_tracker() noexcept;

  /// Excludes the tracker's tables, which are full of the program's pointers.
  bool leave_out_own() noexcept;

  bool leave_out_arena() noexcept;

  bool leave_out_lists() noexcept;

  void mark(const ScanRoots& roots) noexcept;

  void add_root(AddressRange root) noexcept;

  /// Marks the block of a realloc in progress: it is in no table, and only its thread knows the new
  /// address.
  void add_moved(const MovedBlock& moved, os::ThreadId id) noexcept;

  /// Marks the block at `word` if it may be a new one that is not recorded yet.
  void add_moved_to(std::uintptr_t word, std::size_t bytes) noexcept;

  /// Returns whether the thread is in a hooked call.
  [[nodiscard]] bool is_inside_hook(const os::ThreadRegisters& thread) const noexcept;

  /// Returns nullptr if the slot is unreadable.
  [[nodiscard]] const ThreadSlot* slot_of(const os::ThreadRegisters& thread) const noexcept;

  void add_up() noexcept;

  /// Arenas of other threads than the main one begin at an aligned heap, with the lists (glibc:
  /// malloc/arena.c, HEAP_MAX_SIZE).
  static constexpr std::uintptr_t kArenaAlignment = 64 << 20;
  static constexpr std::size_t kArenaHead = 4096;
  static constexpr std::size_t kMapBytes = 256 * 1024;

  const RecordedData& data_;
  const ScanOrder& order_;
  ArenaArray<ScannedBlock> blocks_;
  BlockIndex index_;
  ScanLayout layout_;
  CopiedMemory memory_{layout_};
  BlockMarks<CopiedMemory> marks_{index_, memory_};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/snapshot/reach/impl/frozen_scan.hpp"
#endif
