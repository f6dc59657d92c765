/// Finds blocks that the program cannot reach any more.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <span>

#include "alloctap/arch/own_registers.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/os/find_module.hpp"
#include "alloctap/os/frozen_process.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/record/recorded_data.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/arena_regions.hpp"
#include "alloctap/runtime/bootstrap_arena.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/snapshot/reach/frozen_scan.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/status.hpp"
#include "alloctap/symbol/module_table.hpp"

namespace alloctap {

/// The tracker's data that a scan needs.
struct ScannedTracker {
  RecordedData data;
  /// A module that contains only the tracker; empty if there is no such module.
  std::span<const char> own_module;
  /// Blocks from before the tracker was installed.
  std::span<const AddressRange> earlier_blocks;
  /// Calls `visit` with `context` and each pointer that the tracker keeps for the program; nullptr
  /// if it keeps none.
  void (*for_each_kept_pointer)(void (*visit)(void*, const void*), void* context) = nullptr;
};

/// A leak scan of the process. Stops all threads to copy their registers and fork the process, then
/// scans the copy. If the system cannot fork, threads are stopped during the scan
/// (`os::FrozenProcess`). Control plane; the caller holds the control lock.
class ReachabilityScan {
 public:
  explicit ReachabilityScan(const ScannedTracker& tracker) noexcept : tracker_(tracker) {}
  ReachabilityScan(const ReachabilityScan&) = delete;
  ReachabilityScan& operator=(const ReachabilityScan&) = delete;
  ~ReachabilityScan();

  /// Starts the scan. `mine` has the calling thread's registers in a caller; the stack below their
  /// stack pointer is no root. For `all_blocks_known` see `ScanLayout`.
  [[nodiscard]] Status begin(const arch::RegisterValues& mine, bool all_blocks_known);

  /// Waits for the result and adds it to `snapshot`, which was taken later.
  [[nodiscard]] Status finish(Snapshot& snapshot);

 private:
  /// Spare room for threads created after the count.
  static constexpr std::size_t kMoreThreads = 256;

  static Status no_memory();

  static Status no_memory_map();

  bool prepare(const arch::RegisterValues& mine);

  bool find_own_memory();

  Status freeze();

  /// Acquires the locks that the scan needs, before it stops the threads, so that no stopped thread
  /// holds one.
  int freeze_stopped() noexcept;

  static void scan(void* argument, const os::FrozenState& state) noexcept;

  void scan_frozen(const os::FrozenState& state) noexcept;

  static void keep(void* pointers, const void* pointer) noexcept;

  void add_to(Snapshot& snapshot) noexcept;

  /// Clamps the sums to the live blocks: a block found by mistake may have been freed since.
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
