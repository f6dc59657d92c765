/// The tag that each thread is in: what alloctap/annotate.hpp's `tag_scope` sets.
#pragma once

#include <atomic>
#include <cstddef>
#include <string_view>

#include "alloctap/annotate.hpp"
#include "alloctap/event/offered_annotations.hpp"
#include "alloctap/event/stack_owner.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/tag/tag_table.hpp"

namespace alloctap {

/// The tags of this process, whatever tracker asks.
inline constinit TagTable process_tags;

struct ThisThreadTag;
static_assert(kNoTag == 0, "thread-local storage begins as zeros");

/// What the calling thread is in. Atomic for the same reason as `ThreadSlot::depth`: GCC takes
/// malloc for a function that reads no variable, and would delete the store before it. May run
/// inside malloc.
ALLOCTAP_ALWAYS_INLINE std::atomic<TagId>& this_thread_tag() noexcept {
  return os::ThreadLocal<std::atomic<TagId>, ThisThreadTag>::mine();
}

/// The functions of tags of annotate.h.
struct TagAnnotations {
  static alloctap_tag current() noexcept {
    return this_thread_tag().load(std::memory_order_relaxed);
  }

  /// Takes a lock where the tag is new.
  static alloctap_tag nested(const char* name, std::size_t length) noexcept {
    return process_tags.find_or_add(static_cast<TagId>(current()), annotated_text(name, length));
  }

  static alloctap_tag begin(const char* name, std::size_t length) noexcept {
    return enter(nested(name, length));
  }

  /// A number that was never given out is no tag.
  static alloctap_tag enter(alloctap_tag tag) noexcept {
    const alloctap_tag before = current();
    const bool is_known = tag < process_tags.end_id();
    this_thread_tag().store(is_known ? static_cast<TagId>(tag) : kNoTag, std::memory_order_relaxed);
    return before;
  }
};

/// `tag_scope` as the tracker itself uses it: the calling thread is in just `tag` while one is
/// alive.
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

/// The functions of tags of annotate.h.
extern "C" ALLOCTAP_EXPORT inline constexpr alloctap_tag_functions alloctap_tags{
    .size = sizeof(alloctap_tag_functions),
    .current = &alloctap::TagAnnotations::current,
    .nested = &alloctap::TagAnnotations::nested,
    .enter = &alloctap::TagAnnotations::enter,
    .begin = &alloctap::TagAnnotations::begin,
};
