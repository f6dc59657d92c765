/// One event of an event log.
#pragma once

#include <cstdint>

#include "alloctap/event/stack_identity.hpp"

namespace alloctap {

enum class LoggedKind : std::uint8_t {
  kAllocation,
  kDeallocation,
  /// A reallocation began: the block was removed. If the same thread's next event is `kPutBack`,
  /// the block is live again.
  kDetach,
  /// The reallocation failed, so the old block is live again. Does not count as an allocation.
  kPutBack,
};

struct LoggedEvent {
  /// The position in the log, from 0. The events of one block are in the order in which they
  /// happened, even if different threads caused them.
  std::uint64_t sequence = 0;
  LoggedKind kind = LoggedKind::kAllocation;
  /// The thread's unique number; threads are numbered from 1 in the order of first events.
  std::uint32_t thread = 0;
  /// The stack of the allocation; set only if `adds_block()`.
  StackId stack = kNoStackId;
  std::uintptr_t address = 0;
  /// The size in bytes; set only if `adds_block()`.
  std::uint64_t size = 0;
  /// Nanoseconds since the Unix epoch; the resolution is some ms (`coarse_monotonic_ns`).
  std::int64_t time_ns = 0;

  /// Returns whether a block becomes live, so that `size` and `stack` are set.
  [[nodiscard]] constexpr bool adds_block() const noexcept {
    return kind == LoggedKind::kAllocation || kind == LoggedKind::kPutBack;
  }

  friend constexpr bool operator==(const LoggedEvent&, const LoggedEvent&) noexcept = default;
};

/// The assumed predecessor of the first event of a stream, for delta coding.
inline constexpr LoggedEvent kBeforeFirstEvent{.sequence = ~std::uint64_t{0}};

}  // namespace alloctap
