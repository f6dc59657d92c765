/// One event of an event log.
#pragma once

#include <cstdint>

#include "alloctap/event/stack_identity.hpp"

namespace alloctap {

/// The kind of an event.
enum class LoggedKind : std::uint8_t {
  kAllocation,
  kDeallocation,
  /// A reallocation began: the block is removed, unless `kPutBack` is the next event of that
  /// thread.
  kDetach,
  /// The reallocation failed: the block is live again. Not an allocation.
  kPutBack,
};

struct LoggedEvent {
  /// The position in the log, from 0. Events of one block are in the order in which they happened,
  /// even on different threads.
  std::uint64_t sequence = 0;
  LoggedKind kind = LoggedKind::kAllocation;
  /// Numbers threads from 1 in the order of their first events. Numbers are unique.
  std::uint32_t thread = 0;
  /// Set if `adds_block()`.
  StackId stack = kNoStackId;
  std::uintptr_t address = 0;
  /// Bytes. Set if `adds_block()`.
  std::uint64_t size = 0;
  /// Nanoseconds since the Unix epoch, in steps of some milliseconds (`coarse_monotonic_ns`).
  std::int64_t time_ns = 0;

  /// Whether a block becomes live, so that `size` and `stack` are set.
  [[nodiscard]] constexpr bool adds_block() const noexcept {
    return kind == LoggedKind::kAllocation || kind == LoggedKind::kPutBack;
  }

  friend constexpr bool operator==(const LoggedEvent&, const LoggedEvent&) noexcept = default;
};

/// The predecessor of the first event of a stream, for delta coding.
inline constexpr LoggedEvent kBeforeFirstEvent{.sequence = ~std::uint64_t{0}};

}  // namespace alloctap
