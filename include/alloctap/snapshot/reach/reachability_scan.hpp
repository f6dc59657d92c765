/// Finding the blocks that the program cannot reach any more.
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

/// What a scan has to know of the tracker that it is for.
struct ScannedTracker {
  RecordedData data;
  /// A module that holds the tracker and nothing of the program; empty if there is none.
  std::span<const char> own_module;
  /// Blocks that the program had before the tracker came.
  std::span<const AddressRange> earlier_blocks;
  /// Calls `visit` with `context` and each pointer of the program's that the tracker keeps for it;
  /// nullptr if it keeps none.
  void (*for_each_kept_pointer)(void (*visit)(void*, const void*), void* context) = nullptr;
};

/// A scan of the process: it stops all threads for as long as it takes to note their registers and
/// to copy the process, and scans the copy then. If the system makes none, it stops them for as
/// long as it scans (`os::FrozenProcess`). Control plane, behind the control lock.
class ReachabilityScan {
 public:
  explicit ReachabilityScan(const ScannedTracker& tracker) noexcept : tracker_(tracker) {}
  ReachabilityScan(const ReachabilityScan&) = delete;
  ReachabilityScan& operator=(const ReachabilityScan&) = delete;
  ~ReachabilityScan();

  /// Begins it. What lies below the stack pointer in `mine`, the calling thread's registers in
  /// one of its callers, does not count as the program's. `all_blocks_known`: see `ScanLayout`.
  [[nodiscard]] Status begin(const arch::RegisterValues& mine, bool all_blocks_known);

  /// Waits for its end, and adds what was found to `snapshot`, a later one.
  [[nodiscard]] Status finish(Snapshot& snapshot);

 private:
  /// More threads may come than were counted.
  static constexpr std::size_t kMoreThreads = 256;

  static Status no_memory();

  static Status no_memory_map();

  bool prepare(const arch::RegisterValues& mine);

  bool find_own_memory();

  Status freeze();

  /// The scan needs these locks, and no thread that is stopped to have them.
  int freeze_stopped() noexcept;

  static void scan(void* argument, const os::FrozenState& state) noexcept;

  void scan_frozen(const os::FrozenState& state) noexcept;

  static void keep(void* pointers, const void* pointer) noexcept;

  void add_to(Snapshot& snapshot) noexcept;

  /// A block that was found by mistake may have been freed since.
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
