/// The contract of tag policies, which assign an owner to each allocation, and the default policy.
#pragma once

#include <concepts>
#include <type_traits>

#include "alloctap/annotate.h"
#include "alloctap/event/policy_features.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/macros.hpp"
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

/// The property and the optional member of a tag policy.
struct TagFeatures {
  /// `current` preserves errno. Without this feature, the recorder saves errno at each event.
  bool leaves_errno_alone = false;
  /// `offer(alloctap_slots&)` adds functions for annotate.h when a session starts.
  bool offer = false;
};

/// `current` returns the owner of the calling thread's allocations. It runs inside malloc, for each
/// captured stack, on the thread that owns `thread`. `description` is constant. `features` declares
/// which members of `TagFeatures` the policy has.
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

/// When instantiated, rejects a policy `T` whose declared features differ from its members.
template <class T>
struct CheckedTags {
  static constexpr auto kHas = features_of<TagFeatures, T>();
  ALLOCTAP_CHECK_FEATURE("Tags", kHas, offer, requires(alloctap_slots& slots) { T::offer(slots); });
  static constexpr bool ok = true;
};

/// The default policy, without tags: stacks differ only by their frames. Compiles to no code.
struct NoTags {
  static constexpr StackOwner current(const ThreadState&) noexcept { return {}; }
  static constexpr TagsDescription description() noexcept { return {}; }
};

static_assert(TagPolicy<NoTags>);

}  // namespace alloctap
