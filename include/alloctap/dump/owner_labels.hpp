/// Labels of the tags and threads that own stacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "alloctap/dump/human_units.hpp"
#include "alloctap/event/stack_owner.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_pool.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/snapshot/tag_paths.hpp"

namespace alloctap {

/// Returns "worker (4712)" for a thread, or "4712" if it has no name, for example after its end.
[[nodiscard]] inline ShortText thread_label(const ThreadSummary& thread) noexcept {
  ShortText label;
  if (!thread.name().empty()) {
    label.append(thread.name());
    label.append(" (");
  }
  label.append(static_cast<std::uint64_t>(thread.thread_id));
  if (!thread.name().empty()) label.append(')');
  return label;
}

/// Tag and thread labels for the stacks of a snapshot, which must outlive them. Uses arena memory.
class OwnerLabels {
 public:
  explicit OwnerLabels(const Snapshot& snapshot) noexcept
      : snapshot_(snapshot), tags_(snapshot.tags), complete_(tags_.complete()) {
    for (std::size_t i = 0; i < snapshot.threads.size(); ++i) {
      const ThreadSummary& thread = snapshot.threads[i];
      if (thread.holding && thread.number != kNoThread) add(thread, i);
    }
  }

  /// Returns false if out of memory.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Returns the full path of the stack's tag; empty if the stack has no tag.
  [[nodiscard]] std::string_view tag(StackId stack) const noexcept {
    return tags_.of(snapshot_.table->owner(stack).tag);
  }

  /// Returns the label of the stack's thread; empty if the thread was not recorded.
  [[nodiscard]] std::string_view thread(StackId stack) const noexcept {
    const Thread* thread = find_thread(stack);
    return thread == nullptr ? std::string_view() : thread->label;
  }

  /// Returns the index of the stack's thread in the snapshot's threads; nullopt if not recorded.
  [[nodiscard]] std::optional<std::uint64_t> thread_index(StackId stack) const noexcept {
    const Thread* thread = find_thread(stack);
    return thread == nullptr ? std::optional<std::uint64_t>() : thread->index;
  }

  [[nodiscard]] const TagPaths& tags() const noexcept { return tags_; }

 private:
  struct Thread {
    std::string_view label;
    std::uint64_t index = 0;
  };

  [[nodiscard]] const Thread* find_thread(StackId stack) const noexcept {
    const ThreadNumber number = snapshot_.table->owner(stack).thread;
    const bool is_known = number < threads_.size() && !threads_[number].label.empty();
    return is_known ? &threads_[number] : nullptr;
  }

  void add(const ThreadSummary& thread, std::uint64_t index) noexcept {
    const bool has_place =
        thread.number < threads_.size() || threads_.resize(std::size_t{thread.number} + 1);
    complete_ = complete_ && has_place;
    if (!has_place) return;
    const std::string_view label = texts_.keep(thread_label(thread));
    threads_[thread.number] = {label, index};
    complete_ = complete_ && !label.empty();
  }

  const Snapshot& snapshot_;
  TagPaths tags_;
  TextPool texts_;
  /// Indexed by thread number.
  ArenaArray<Thread> threads_;
  bool complete_;
};

}  // namespace alloctap
