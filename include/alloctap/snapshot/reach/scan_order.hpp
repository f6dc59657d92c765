/// What a scan for unreachable blocks is given, and what it tells.
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

/// What a scan tells: in memory that a copy of the process shares with it.
struct ScanResults {
  enum class State : std::uint32_t { kNotDone, kNoMemory, kNoMemoryMap, kDone };

  std::atomic<State> state{State::kNotDone};
  std::uint64_t unread_bytes = 0;
  /// As many as there is room for; the others stand in the place of `kUnknownStack`.
  std::size_t stacks = 0;

  [[nodiscard]] UnreachableSum* by_stack() noexcept {
    return reinterpret_cast<UnreachableSum*>(this + 1);
  }
};

/// What a scan has to know beyond what memory tells.
struct ScanOrder {
  /// The one that asks comes first.
  std::span<os::ThreadRegisters> threads;
  /// Where the tracker's code lies, and nothing of the program; empty where that is unknown.
  AddressRange tracker_code;
  /// Where the code of `exit` lies.
  AddressRange c_library_code;
  /// The program's memory that is the tracker's: beside the arena.
  std::span<const AddressRange> own_memory;
  /// From the first to the last byte of each module, by ascending address.
  std::span<const Module> modules;
  /// Blocks that the program had before the tracker came, as they were then.
  std::span<const AddressRange> earlier_blocks;
  /// Pointers of the program's that are in none of its own variables.
  std::span<const std::uintptr_t> kept_pointers;
  bool all_blocks_known = false;
  /// Whether `threads` are all that there are.
  bool all_threads_seen = false;
  /// What the memory to scan lacks of the program's.
  std::uint64_t unread_bytes = 0;
  ScanResults* results = nullptr;
};

}  // namespace alloctap
