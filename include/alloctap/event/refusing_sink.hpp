/// The contract between a hook backend and a sink that injects allocation failures.
#pragma once

#include <concepts>
#include <cstddef>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/event_sink.hpp"

namespace alloctap {

/// An allocation that is about to be made.
struct AskedAllocation {
  /// Bytes.
  std::size_t size = 0;
  /// Whether the tracker makes it, for a snapshot or a report.
  bool is_own = false;
  CallOrigin origin;
};

/// A sink that can make an allocation fail as if out of memory. All functions run inside malloc, on
/// any thread, with or without a session, before the allocator sees the call.
///
/// `may_refuse` is called for every allocation, so it must be a mere load. If it returns true,
/// `refuses` follows, and `end_asked` at the end of the call, on one thread, whatever the result.
/// Nested allocations of the allocator or the C++ library in between pass through `refuses`, too,
/// and must not fail: they are not the program's.
template <class S>
concept RefusingSink = EventSink<S> && requires(const AskedAllocation& asked) {
  { S::may_refuse() } noexcept -> std::same_as<bool>;
  { S::refuses(asked) } noexcept -> std::same_as<bool>;
  { S::end_asked() } noexcept -> std::same_as<void>;
};

}  // namespace alloctap
