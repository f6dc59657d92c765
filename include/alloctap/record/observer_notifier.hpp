/// Calls the observers that a config lists.
#pragma once

#include <cstddef>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/observe/observer.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/runtime/thread_state.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/tag/tag_policy.hpp"

namespace alloctap {

/// Calls the functions that `Config::Observers` implements. Stateless; runs inside malloc.
template <class Config>
class ObserverNotifier {
 public:
  using Observers = typename Config::Observers;
  static constexpr bool kNotifies = kObserves<Observers>;

  /// Reports a block that `thread` has just allocated. The caller preserves errno.
  ALLOCTAP_ALWAYS_INLINE static void notify_alloc(const ThreadState& thread, void* pointer,
                                                  const BlockRecord& record) noexcept {
    ObservedBlock block = observed(pointer, record);
    // The stack was captured just now, so its owner is the thread's current owner.
    if constexpr (kNeedsOwners) {
      if (record.stack >= kFirstStack) block.owner = Config::Tags::current(thread);
    }
    Observers::on_track(block);
  }

  /// Reports a free. The caller preserves errno.
  ALLOCTAP_ALWAYS_INLINE static void notify_free(const StackTable& stacks, void* pointer,
                                                 const BlockRecord& record) noexcept {
    if (record.stack == kNoStackId) return;
    Observers::on_untrack(with_owner(stacks, observed(pointer, record)));
  }

  /// Reports that a block is live again: its reallocation, reported as a free, has failed.
  static void notify_realloc_failed(const StackTable& stacks, void* pointer,
                                    const BlockRecord& record) noexcept {
    const os::ErrnoGuard preserve_error;
    Observers::on_track(with_owner(stacks, observed(pointer, record)));
  }

  /// Reports a reallocation if `event` ends a reallocation of a known block. `record` is the record
  /// of the new block.
  static void notify_realloc(const StackTable& stacks, const AllocationEvent& event,
                             const BlockRecord& record) noexcept {
    if constexpr (kFeatures.on_reallocate) {
      if (event.reallocated == nullptr || !event.reallocated->known) return;
      const os::ErrnoGuard preserve_error;
      const DetachedBlock& before = *event.reallocated;
      Observers::on_reallocate(with_owner(stacks, observed(before.pointer, before.record)),
                               with_owner(stacks, observed(event.pointer, record)));
    }
  }

  static void notify_map(const ObservedMapping& mapping) noexcept {
    if constexpr (kFeatures.on_map) {
      const os::ErrnoGuard preserve_error;
      Observers::on_map(mapping);
    }
  }

  static void notify_unmap(const ObservedMapping& mapping) noexcept {
    if constexpr (kFeatures.on_unmap) {
      const os::ErrnoGuard preserve_error;
      Observers::on_unmap(mapping);
    }
  }

 private:
  static constexpr ObserverFeatures kFeatures = kObserverFeatures<Observers>;
  static constexpr bool kNeedsOwners =
      kFeatures.wants_owners && !kHasNoOwners<typename Config::Tags>;

  ALLOCTAP_ALWAYS_INLINE static ObservedBlock observed(void* pointer,
                                                       const BlockRecord& record) noexcept {
    return {.pointer = pointer, .size = record.size, .stack = record.stack, .owner = {}};
  }

  /// Returns `block` with the owner of its stack: a free is attributed to the allocation's tag.
  ALLOCTAP_ALWAYS_INLINE static ObservedBlock with_owner([[maybe_unused]] const StackTable& stacks,
                                                         ObservedBlock block) noexcept {
    if constexpr (kNeedsOwners) block.owner = stacks.owner(block.stack);
    return block;
  }
};

}  // namespace alloctap
