/// The contract of tags: to whom an allocation is put down, beside its stack.
#pragma once

#include <concepts>
#include <type_traits>

#include "alloctap/event/stack_owner.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/tag/tag_table.hpp"

namespace alloctap {

/// What a policy tells of stacks.
struct TagsDescription {
  /// What the tags are called; nullptr for a policy that knows of none.
  const TagTable* tags = nullptr;
  /// Whether each stack is of one thread.
  bool threads = false;
};

/// `current` is the owner of what the calling thread allocates now. It is asked for each stack that
/// is captured, inside malloc, on the thread that owns `thread`. Where a policy says
/// `leaves_errno_alone`, it does not change the error number; else the recorder keeps that, at each
/// event. `description` stays the same. `offer(alloctap_slots&)` may be added: it puts down what
/// the policy has for annotate.h, when a session starts.
///
/// An owner is mixed into the hash of the stack, so a tracker that tells them apart pays for the
/// mixing, and with a stack of its own for each owner that a stack has: some 70 bytes, as the outer
/// frames are shared.
template <class T>
concept TagPolicy = requires(const ThreadState& thread) {
  { T::current(thread) } noexcept -> std::same_as<StackOwner>;
  { T::description() } noexcept -> std::same_as<TagsDescription>;
};

/// Whether stacks have no owner for `T`, whatever happens. Then nothing of owners is compiled into
/// a tracker.
template <class T>
inline constexpr bool kHasNoOwners = requires {
  requires std::bool_constant<T::description().tags == nullptr && !T::description().threads>::value;
};

/// The least that models `TagPolicy`.
struct TagPolicyArchetype {
  static StackOwner current(const ThreadState&) noexcept { return {}; }
  static TagsDescription description() noexcept { return {}; }
};

static_assert(TagPolicy<TagPolicyArchetype>);

}  // namespace alloctap
