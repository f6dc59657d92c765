/// Memory by what the program was doing, on threads that say nothing of it, too.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/os/thread_local.hpp"
#include "alloctap/tag/tag_policy.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap {

/// As `ScopedTags`, but a thread that is in no scope when it allocates for the first time takes the
/// tag that the process is in then, and keeps it: what a thread that a test case, a level or a
/// request has started allocates is that one's, until the thread ends or enters a scope. A thread
/// that has allocated before, while the process was in no tag, keeps to none.
///
/// `ProcessTag` sets what the process is in. So a thread of a pool that allocates first in one test
/// case is put down to that one for good; a job that runs there for somebody else enters a
/// `tag_scope` with the tag that it was given.
struct InheritedTags {
  static StackOwner current(const ThreadState&) noexcept {
    const TagId mine = this_thread_tag().load(std::memory_order_relaxed);
    return {.tag = mine != kNoTag ? mine : inherited()};
  }
  static TagsDescription description() noexcept { return {.tags = &process_tags}; }
  static void offer(alloctap_slots& slots) noexcept { slots.tags = &alloctap_tags; }

 private:
  friend class ProcessTag;
  struct Inherited;

  /// The calling thread's, with `kBegun` once it has one.
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

/// While one is alive, threads that begin are in its tag, with `Tags = InheritedTags`. The calling
/// thread is as well, as in a `TagScope`. One at a time; they may nest on one thread.
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
