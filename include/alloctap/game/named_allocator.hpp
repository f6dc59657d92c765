/// An allocator of the program's that reports show under its name.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap {

/// `Hook`, a `ManualHook`, for one of the program's allocators: what it hands out is put down to
/// the tag of its name, and what it holds beyond that, in headers and in memory that waits for the
/// next block, is shown beside it:
///
///     alloctap::NamedAllocator<Tracker::Hook> arena{"FrameArena"};
///     ...  arena.on_allocate(block, bytes);  ...  arena.on_free(block);
///     ...  arena.set_overhead(pages_held - bytes_in_use);
///
/// The tag is an outermost one, whatever tag the calling thread is in: an allocator is one thing
/// with one overhead, and who called it stands in the stack. One that belongs to a part of the
/// program is put inside of that part's tag by the second constructor. Allocators with one name
/// share a tag, and their overheads add up. One without a name, or for which there is no room in
/// the table of tags, is its parent's; of no tag no overhead is kept. Trackers whose `Tags` do not
/// tell tags see the blocks alone. Overheads are in no other number: nobody allocated them.
///
/// Thread-safe. The functions of blocks may be called where those of `Hook` may, inside malloc too;
/// the others not inside a hook. Its overhead ends with it.
template <class Hook>
class NamedAllocator {
 public:
  explicit NamedAllocator(std::string_view name, Tag parent = {}) noexcept
      : tag_{process_tags.find_or_add(parent.id, name)} {}
  NamedAllocator(const NamedAllocator&) = delete;
  NamedAllocator& operator=(const NamedAllocator&) = delete;
  ~NamedAllocator() { set_overhead(0); }

  // All are inlined, so that stacks begin where the program calls.

  /// As those of `ManualHook`; sizes and alignments in bytes.
  ALLOCTAP_ALWAYS_INLINE void on_allocate(void* block, std::size_t size,
                                          std::size_t alignment = 0) const noexcept {
    const EnteredTag scope{tag_.id};
    Hook::on_allocate(block, size, alignment);
  }
  ALLOCTAP_ALWAYS_INLINE void on_free(void* block) const noexcept { Hook::on_free(block); }

  [[nodiscard]] ALLOCTAP_ALWAYS_INLINE DetachedBlock begin_reallocate(void* block) const noexcept {
    return Hook::begin_reallocate(block);
  }
  ALLOCTAP_ALWAYS_INLINE void end_reallocate(const DetachedBlock& old, void* block,
                                             std::size_t size,
                                             std::size_t alignment = 0) const noexcept {
    const EnteredTag scope{tag_.id};
    Hook::end_reallocate(old, block, size, alignment);
  }

  /// It holds so many bytes beyond its blocks now.
  void set_overhead(std::uint64_t bytes) noexcept {
    const auto now = static_cast<std::int64_t>(bytes);
    const std::int64_t before = overhead_.exchange(now, std::memory_order_relaxed);
    process_tags.add_overhead(tag_.id, now - before);
  }

  /// It holds so many bytes more beyond its blocks, or fewer. Below zero counts as none.
  void add_overhead(std::int64_t bytes) noexcept {
    overhead_.fetch_add(bytes, std::memory_order_relaxed);
    process_tags.add_overhead(tag_.id, bytes);
  }

  /// Its tag.
  [[nodiscard]] Tag tag() const noexcept { return tag_; }

 private:
  const Tag tag_;
  std::atomic<std::int64_t> overhead_{0};
};

}  // namespace alloctap
