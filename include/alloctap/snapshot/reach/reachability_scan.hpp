/// The leak scan: finds live blocks that are unreachable from the program.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <span>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/os/frozen_process.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/record/recorded_data.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/snapshot/reach/frozen_scan.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/status.hpp"
#include "alloctap/symbol/module_table.hpp"

namespace alloctap {

/// Data of the tracker that a scan requires.
struct ScannedTracker {
  RecordedData data;
  /// The path of a module that contains only the tracker; empty if there is no such module.
  std::span<const char> own_module;
  /// Blocks that were allocated before the tracker was installed.
  std::span<const AddressRange> earlier_blocks;
  /// Calls `visit` with `context` and each pointer that the tracker stores for the program. nullptr
  /// if the tracker stores no such pointer.
  void (*for_each_kept_pointer)(void (*visit)(void*, const void*), void* context) = nullptr;
};

/// A leak scan of this process. Stops all threads, copies their registers, forks the process and
/// scans the forked copy. If the system cannot fork, all threads stay stopped during the scan
/// (`os::FrozenProcess`). Control plane; the caller holds the control lock.
class ReachabilityScan {
 public:
  explicit ReachabilityScan(const ScannedTracker& tracker) noexcept : tracker_(tracker) {}
  ReachabilityScan(const ReachabilityScan&) = delete;
  ReachabilityScan& operator=(const ReachabilityScan&) = delete;
  ~ReachabilityScan();

  /// Starts the scan. `mine` are the calling thread's registers in the frame of a caller. The stack
  /// below the stack pointer in `mine` is no root. `ScanLayout::all_blocks_known` documents the
  /// last argument.
  [[nodiscard]] Status begin(const arch::RegisterValues& mine, bool all_blocks_known);

  /// Waits for the result and adds it to `snapshot`, which was taken after `begin`.
  [[nodiscard]] Status finish(Snapshot& snapshot);

 private:
  /// Extra slots for threads that are created after the threads were counted.
  static constexpr std::size_t kMoreThreads = 256;

  static Status no_memory();

  static Status no_memory_map();

  bool prepare(const arch::RegisterValues& mine);

  bool find_own_memory();

  Status freeze();

  /// Acquires the locks that the scan needs, then stops all threads. So no stopped thread holds any
  /// of the locks.
  int freeze_stopped() noexcept;

  static void scan(void* argument, const os::FrozenState& state) noexcept;

  void scan_frozen(const os::FrozenState& state) noexcept;

  static void keep(void* pointers, const void* pointer) noexcept;

  void add_to(Snapshot& snapshot) noexcept;

  /// Limits `sum` to the live blocks, because a block may have been freed since the scan.
  static UnreachableSum within(UnreachableSum sum, const StackSummary& stack) noexcept;

  static std::size_t round_up(std::size_t bytes) noexcept;

  static constexpr std::size_t kMoreStacks = 1024;

  const ScannedTracker tracker_;
  os::FrozenProcess frozen_;
  ModuleTable modules_;
  ScanOrder order_;
  std::byte* stack_ = nullptr;
  ScanResults* results_ = nullptr;
  std::size_t result_bytes_ = 0;
  ArenaArray<os::ThreadRegisters> threads_;
  ArenaArray<AddressRange> own_memory_;
  ArenaArray<std::uintptr_t> kept_pointers_;
  std::int64_t begun_ns_ = 0;
  std::int64_t stopped_ns_ = 0;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/snapshot/reach/impl/reachability_scan.hpp"
#endif
