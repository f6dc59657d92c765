/// Input and output of a leak scan.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/meta/mapping_interval.hpp"
#include "alloctap/os/frozen_process.hpp"
#include "alloctap/snapshot/reach/reachability.hpp"
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

}  // namespace alloctap
