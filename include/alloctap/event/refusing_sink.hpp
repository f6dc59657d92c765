/// What a hook backend asks a sink that may refuse allocations, beyond telling it of them.
#pragma once

#include <concepts>
#include <cstddef>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/event_sink.hpp"

namespace alloctap {

/// A block that somebody is about to ask the allocator for.
struct AskedAllocation {
  /// In bytes.
  std::size_t size = 0;
  /// Whether it is not the program that asks, but the tracker, for a snapshot or a report.
  bool is_own = false;
  CallOrigin origin;
};

/// A sink that may have a call fail as if there were no memory. Every function runs inside malloc,
/// on any thread, whether there is a session or not, before the allocator sees anything of the
/// call.
///
/// `may_refuse` is asked for every call, so it has to be a load. Where it is true, `refuses`
/// follows, and when the call is over `end_asked`, on the same thread, whatever the answer was. In
/// between, what the allocator or the C++ library allocates on the way is asked for too, and must
/// not be refused: it is no call of anybody's.
template <class S>
concept RefusingSink = EventSink<S> && requires(const AskedAllocation& asked) {
  { S::may_refuse() } noexcept -> std::same_as<bool>;
  { S::refuses(asked) } noexcept -> std::same_as<bool>;
  { S::end_asked() } noexcept -> std::same_as<void>;
};

}  // namespace alloctap
