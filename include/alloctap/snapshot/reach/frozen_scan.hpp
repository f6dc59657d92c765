/// The leak scan, run on frozen memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/meta/mapping_container.hpp"
#include "alloctap/os/frozen_process.hpp"
#include "alloctap/pe/native_sections.hpp"
#include "alloctap/record/recorded_data.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/arena_regions.hpp"
#include "alloctap/runtime/bootstrap_arena.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/snapshot/reach/allocator_lists.hpp"
#include "alloctap/snapshot/reach/block_index.hpp"
#include "alloctap/snapshot/reach/block_marks.hpp"
#include "alloctap/snapshot/reach/copied_memory.hpp"
#include "alloctap/snapshot/reach/ended_threads.hpp"
#include "alloctap/snapshot/reach/program_frames.hpp"
#include "alloctap/snapshot/reach/reachability.hpp"
#include "alloctap/snapshot/reach/scan_layout.hpp"
#include "alloctap/snapshot/reach/scan_order.hpp"
#include "alloctap/snapshot/reach/scan_roots.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/symbol/module_table.hpp"

namespace alloctap {

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
