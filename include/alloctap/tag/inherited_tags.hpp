/// A tag policy in which threads without a tag inherit one from the process.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/os/thread_local.hpp"
#include "alloctap/tag/tag_policy.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap {

/// Like `ScopedTags`, but a thread outside all scopes takes the process's current tag at its first
/// allocation, and keeps that tag. So a thread started by a test case, a level or a request
/// allocates under the tag of that origin, except inside scopes. A thread that allocates before the
/// process has a tag inherits no tag.
///
/// `ProcessTag` sets the process's tag. A worker of a thread pool keeps the tag of its first
/// allocation, so each job should enter a `tag_scope` with the tag of the code that submitted it.
struct InheritedTags {
  static constexpr TagFeatures features{.offer = true};

  static StackOwner current(const ThreadState&) noexcept {
    const TagId mine = this_thread_tag().load(std::memory_order_relaxed);
    return {.tag = mine != kNoTag ? mine : inherited()};
  }
  static TagsDescription description() noexcept { return {.tags = &process_tags}; }
  static void offer(alloctap_slots& slots) noexcept { slots.tags = &alloctap_tags; }

 private:
  friend class ProcessTag;
  struct Inherited;

  /// Returns the calling thread's inherited tag; takes the process's tag in the first call. After
  /// that call the stored value has the bit `kBegun`.
  static TagId inherited() noexcept {
    auto& start = os::ThreadLocal<std::atomic<std::uint32_t>, Inherited>::mine();
    std::uint32_t tag = start.load(std::memory_order_relaxed);
    if (tag == 0) [[unlikely]] {
      tag = kBegun | process_tag_.load(std::memory_order_relaxed);
      start.store(tag, std::memory_order_relaxed);
    }
    return static_cast<TagId>(tag);
  }

  static constexpr std::uint32_t kBegun = 0x10000;
  static inline constinit std::atomic<TagId> process_tag_{kNoTag};
};

static_assert(TagPolicy<InheritedTags>);

/// A scope guard that sets the process's tag for `Tags = InheritedTags`, and the calling thread's
/// tag like `TagScope`. Only one thread at a time may have `ProcessTag` guards, which may nest.
class ProcessTag {
 public:
  explicit ProcessTag(Tag tag) noexcept
      : before_{InheritedTags::process_tag_.exchange(tag.id, std::memory_order_relaxed)},
        scope_(tag.id) {}
  ~ProcessTag() { InheritedTags::process_tag_.store(before_, std::memory_order_relaxed); }
  ProcessTag(const ProcessTag&) = delete;
  ProcessTag& operator=(const ProcessTag&) = delete;

 private:
  const TagId before_;
  const EnteredTag scope_;
};

}  // namespace alloctap
