/// What an event log keeps of an event.
#pragma once

#include <cstdint>

#include "alloctap/event/stack_identity.hpp"

namespace alloctap {

/// What happened to a block.
enum class LoggedKind : std::uint8_t {
  kAllocation,
  kDeallocation,
  /// A reallocation began: the block is gone, unless `kPutBack` is the next event of that thread.
  kDetach,
  /// That reallocation failed: the block is there again. No allocation.
  kPutBack,
};

struct LoggedEvent {
  /// The place in the order of all events of a log, from 0: events of one block are in the order in
  /// which they happened, whatever threads they are of.
  std::uint64_t sequence = 0;
  LoggedKind kind = LoggedKind::kAllocation;
  /// From 1, in the order in which threads had their first event. No two threads share a number.
  std::uint32_t thread = 0;
  /// Of allocations and of what is put back.
  StackId stack = kNoStackId;
  std::uintptr_t address = 0;
  /// In bytes, likewise.
  std::uint64_t size = 0;
  /// In nanoseconds since the Unix epoch, in steps of some milliseconds (`coarse_monotonic_ns`).
  std::int64_t time_ns = 0;

  /// Whether a block comes, so that there is a size and a stack.
  [[nodiscard]] constexpr bool adds_block() const noexcept {
    return kind == LoggedKind::kAllocation || kind == LoggedKind::kPutBack;
  }

  friend constexpr bool operator==(const LoggedEvent&, const LoggedEvent&) noexcept = default;
};

/// What the first event of a stream is told from.
inline constexpr LoggedEvent kBeforeFirstEvent{.sequence = ~std::uint64_t{0}};

}  // namespace alloctap
