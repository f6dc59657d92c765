/// The current tag of each thread, which `tag_scope` of alloctap/annotate.hpp sets.
#pragma once

#include <atomic>
#include <cstddef>
#include <string_view>

#include "alloctap/annotate.hpp"
#include "alloctap/event/offered_annotations.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/tag/tag_table.hpp"

namespace alloctap {

/// The table of the process's tags, shared by all trackers.
inline constinit TagTable process_tags;

struct ThisThreadTag;
static_assert(kNoTag == 0, "thread-local storage begins as zeros");

/// Returns the calling thread's tag. Atomic, because GCC assumes that malloc reads no variables and
/// would delete a store before a call of malloc. May run inside malloc.
ALLOCTAP_ALWAYS_INLINE std::atomic<TagId>& this_thread_tag() noexcept {
  return os::ThreadLocal<std::atomic<TagId>, ThisThreadTag>::mine();
}

/// Implementations of the tag functions of annotate.h.
struct TagAnnotations {
  static alloctap_tag current() noexcept {
    return this_thread_tag().load(std::memory_order_relaxed);
  }

  /// Returns the tag `name` nested in the current tag. Acquires a lock if the tag is new.
  static alloctap_tag nested(const char* name, std::size_t length) noexcept {
    return process_tags.find_or_add(static_cast<TagId>(current()), annotated_text(name, length));
  }

  static alloctap_tag begin(const char* name, std::size_t length) noexcept {
    return enter(nested(name, length));
  }

  /// Sets the thread's tag; an id that was never assigned means no tag. Returns the old tag.
  static alloctap_tag enter(alloctap_tag tag) noexcept {
    const alloctap_tag before = current();
    const bool is_known = tag < process_tags.end_id();
    this_thread_tag().store(is_known ? static_cast<TagId>(tag) : kNoTag, std::memory_order_relaxed);
    return before;
  }
};

/// A scope guard like `tag_scope`, for the tracker itself. Sets the calling thread's tag to `tag`,
/// not to a tag nested in the current tag.
class EnteredTag {
 public:
  explicit EnteredTag(alloctap_tag tag) noexcept : before_(TagAnnotations::enter(tag)) {}
  ~EnteredTag() { TagAnnotations::enter(before_); }
  EnteredTag(const EnteredTag&) = delete;
  EnteredTag& operator=(const EnteredTag&) = delete;

 private:
  const alloctap_tag before_;
};

}  // namespace alloctap

/// The function table of annotate.h's tags.
extern "C" ALLOCTAP_EXPORT inline constexpr alloctap_tag_functions alloctap_tags{
    .size = sizeof(alloctap_tag_functions),
    .current = &alloctap::TagAnnotations::current,
    .nested = &alloctap::TagAnnotations::nested,
    .enter = &alloctap::TagAnnotations::enter,
    .begin = &alloctap::TagAnnotations::begin,
};
