/// The leak scan, run in a forked copy of the process or while all other threads are stopped.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/os/frozen_process.hpp"
#include "alloctap/pe/native_image.hpp"
#include "alloctap/record/recorded_data.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/snapshot/reach/block_index.hpp"
#include "alloctap/snapshot/reach/block_marks.hpp"
#include "alloctap/snapshot/reach/reachability.hpp"
#include "alloctap/snapshot/reach/scan_layout.hpp"
#include "alloctap/snapshot/reach/scan_roots.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/symbol/module_table.hpp"

namespace alloctap {

/// The results of a scan, in memory that is shared with the forked copy.
struct ScanResults {
  enum class State : std::uint32_t { kNotDone, kNoMemory, kNoMemoryMap, kDone };

  std::atomic<State> state{State::kNotDone};
  std::uint64_t unread_bytes = 0;
  /// Number of elements of `by_stack`. Blocks of other stacks are summed under `kUnknownStack`.
  std::size_t stacks = 0;

  [[nodiscard]] UnreachableSum* by_stack() noexcept {
    return reinterpret_cast<UnreachableSum*>(this + 1);
  }
};

/// The input of a scan, except for the memory itself.
struct ScanOrder {
  /// Registers of all threads, the requesting thread first.
  std::span<os::ThreadRegisters> threads;
  /// The range of code that contains only the tracker; empty if unknown.
  AddressRange tracker_code;
  /// The range of code that contains `exit`.
  AddressRange c_library_code;
  /// Memory of the tracker outside the arena.
  std::span<const AddressRange> own_memory;
  /// The address range of each module, in order of address.
  std::span<const Module> modules;
  /// Blocks allocated before the tracker was installed, as found during the installation.
  std::span<const AddressRange> earlier_blocks;
  /// Pointers that the tracker stores for the program, outside the program's memory.
  std::span<const std::uintptr_t> kept_pointers;
  bool all_blocks_known = false;
  /// Whether `threads` contains all threads.
  bool all_threads_seen = false;
  /// Number of bytes of the program's memory that are missing in the forked copy.
  std::uint64_t unread_bytes = 0;
  ScanResults* results = nullptr;
};

/// Finds the bins of a malloc arena of glibc in `words`, which lie at `address`. Bins are 127
/// circular lists, whose heads are an array (malloc/malloc.c, "struct malloc_state"). A list head
/// points at a chunk header, which overlaps the last usable word of the previous block. List heads
/// used as roots would therefore make live blocks reachable.
///
/// Returns the range of the array and of the arena's members before the array. Returns an empty
/// range if `words` contains no array. Recognizes the array by the empty lists at its end: both
/// words of an empty list's head hold the address two words below the head.
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

/// Finds the unreachable blocks among those that a recorder tracks. Runs in a forked copy of the
/// process, or while all other threads are stopped. Allocates only in the arena.
class FrozenScan {
 public:
  using State = ScanResults::State;

  FrozenScan(const RecordedData& data, const ScanOrder& order) noexcept
      : data_(data), order_(order) {}

  /// Runs the scan. Call it once.
  [[nodiscard]] State run() noexcept;

 private:
  using Words = std::span<const std::uintptr_t>;

  [[nodiscard]] std::span<const ScannedBlock> blocks() const noexcept;

  bool read_blocks() noexcept;

  /// Lists the mapped regions. Must not allocate or free memory while it lists them, because the
  /// list must not contain regions that are unmapped later. Only regions of the arena may be
  /// unmapped, because they are excluded from the roots.
  bool read_regions(bool& described) noexcept;

  bool add_programs() noexcept;

  bool add_modules() noexcept;

  /// Finds the read-only ranges of `module` that its program headers declare writable. Reads the
  /// headers in memory, because the file may be deleted.
  void ask_file(AddressRange module) noexcept;

  void leave_tracker() noexcept;

  /// Excludes the tracker's tables from the roots, because they contain pointers to all blocks.
  bool leave_out_own() noexcept;

  bool leave_out_arena() noexcept;

  bool leave_out_lists() noexcept;

  void mark(const ScanRoots& roots) noexcept;

  void add_root(AddressRange root) noexcept;

  /// Makes the block of a reallocation in progress a root. The block is in no table, and only the
  /// reallocating thread has the block's new address.
  void add_moved(const MovedBlock& moved, os::ThreadId id) noexcept;

  /// Makes `bytes` bytes at `word` a root if they may be a block that is not recorded yet.
  void add_moved_to(std::uintptr_t word, std::size_t bytes) noexcept;

  /// Returns whether the thread was stopped in a hooked call.
  [[nodiscard]] bool is_inside_hook(const os::ThreadRegisters& thread) const noexcept;

  /// Returns the thread's slot, or nullptr if the slot is unreadable.
  [[nodiscard]] const ThreadSlot* slot_of(const os::ThreadRegisters& thread) const noexcept;

  void add_up() noexcept;

  /// Alignment of the heaps of non-main arenas. Such an arena, with its bins, lies at the start of
  /// an aligned heap (glibc: malloc/arena.c, HEAP_MAX_SIZE).
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
