/// Saying what the program is doing.
#pragma once

#include <atomic>
#include <string_view>

#include "alloctap/event/stack_owner.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/tag/tag_table.hpp"

namespace alloctap {

/// The tags of this process, whatever tracker asks.
inline constinit TagTable process_tags;

/// A tag as a value, to be kept or handed to another thread. A default one is none.
struct Tag {
  TagId id = kNoTag;
};

struct ThisThreadTag;
static_assert(kNoTag == 0, "thread-local storage begins as zeros");

/// What the calling thread is in. Atomic for the same reason as `ThreadSlot::depth`: GCC takes
/// malloc for a function that reads no variable, and would delete the store before it.
ALLOCTAP_ALWAYS_INLINE std::atomic<TagId>& this_thread_tag() noexcept {
  return os::ThreadLocal<std::atomic<TagId>, ThisThreadTag>::mine();
}

/// The tag that the calling thread is in. May run inside malloc.
[[nodiscard]] ALLOCTAP_ALWAYS_INLINE Tag current_tag() noexcept {
  return {this_thread_tag().load(std::memory_order_relaxed)};
}

/// The tag `name` inside of the one that the calling thread is in. Takes a lock where the tag is
/// new. Not to be used inside a hook.
[[nodiscard]] inline Tag nested_tag(std::string_view name) noexcept {
  return {process_tags.find_or_add(current_tag().id, name)};
}

/// While one is alive, what its thread allocates counts as its tag's, in trackers whose `Tags` tell
/// tags:
///
///     alloctap::tag_scope physics{"Physics"};        // inside of "Game": "Game/Physics"
///
/// A scope made of a value enters just that tag, wherever the thread was, and is the way to take a
/// tag along to a job on another thread:
///
///     queue.push([tag = alloctap::current_tag()] { alloctap::tag_scope job{tag}; ... });
///
/// The name may be gone after the constructor. A name of the thread's is known after its first use,
/// and costs a look-up from then on; a value costs two stores. Scopes of one thread end in the
/// reverse order of their beginning, and on the thread that they began on. A coroutine or fiber
/// that may go on on another thread must not wait inside of one. Not to be used inside a hook.
class TagScope {
 public:
  explicit TagScope(std::string_view name) noexcept : TagScope(nested_tag(name)) {}
  explicit TagScope(Tag tag) noexcept : before_(current_tag()) { enter(tag); }
  ~TagScope() { enter(before_); }
  TagScope(const TagScope&) = delete;
  TagScope& operator=(const TagScope&) = delete;

 private:
  static void enter(Tag tag) noexcept {
    this_thread_tag().store(tag.id, std::memory_order_relaxed);
  }

  const Tag before_;
};

using tag_scope = TagScope;

}  // namespace alloctap
