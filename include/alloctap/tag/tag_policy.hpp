/// The contract of tag policies, which assign an owner to each allocation.
#pragma once

#include <concepts>
#include <type_traits>

#include "alloctap/event/stack_owner.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/tag/tag_table.hpp"

namespace alloctap {

/// The kinds of owners that a policy distinguishes.
struct TagsDescription {
  /// The names of the tags; nullptr if the policy has no tags.
  const TagTable* tags = nullptr;
  /// Whether stacks are distinguished by thread.
  bool threads = false;
};

/// `current` returns the owner of the calling thread's allocations. It runs inside malloc, for each
/// captured stack, on the thread that owns `thread`. If `leaves_errno_alone` is true, it preserves
/// errno; otherwise the recorder saves errno at each event. `description` is constant. Optional:
/// `offer(alloctap_slots&)` adds functions for annotate.h when a session starts.
///
/// The owner is mixed into the stack's hash. So equal frames with different owners are separate
/// stacks, each about 70 bytes because outer frames are shared.
template <class T>
concept TagPolicy = requires(const ThreadState& thread) {
  { T::current(thread) } noexcept -> std::same_as<StackOwner>;
  { T::description() } noexcept -> std::same_as<TagsDescription>;
};

/// Whether policy `T` never assigns owners. If so, trackers contain no code for owners.
template <class T>
inline constexpr bool kHasNoOwners = requires {
  requires std::bool_constant<T::description().tags == nullptr && !T::description().threads>::value;
};

/// A minimal model of `TagPolicy`.
struct TagPolicyArchetype {
  static StackOwner current(const ThreadState&) noexcept { return {}; }
  static TagsDescription description() noexcept { return {}; }
};

static_assert(TagPolicy<TagPolicyArchetype>);

}  // namespace alloctap
