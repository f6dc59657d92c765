/// The contract between a hook backend and a sink that injects allocation failures.
#pragma once

#include <concepts>
#include <cstddef>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/event_sink.hpp"

namespace alloctap {

/// An allocation that is about to be made.
struct AskedAllocation {
  /// The requested size in bytes.
  std::size_t size = 0;
  /// Whether the tracker itself allocates, for a snapshot or a report.
  bool is_own = false;
  CallOrigin origin;
};

/// A sink that can make an allocation fail as if out of memory. All functions run inside malloc,
/// before the allocator, on any thread, even without a session. `may_refuse` is called for every
/// allocation, so it must only load a variable. If `may_refuse` returns true, the hook calls
/// `refuses`. At the end of the allocation, failed or not, the hook calls `end_asked` on that
/// thread. Between these calls, `refuses` is also called for nested allocations by the allocator or
/// the C++ library. `refuses` must return false for nested allocations: they are not the program's.
template <class S>
concept RefusingSink = EventSink<S> && requires(const AskedAllocation& asked) {
  { S::may_refuse() } noexcept -> std::same_as<bool>;
  { S::refuses(asked) } noexcept -> std::same_as<bool>;
  { S::end_asked() } noexcept -> std::same_as<void>;
};

}  // namespace alloctap
