/// Attribution of a custom allocator's blocks and overhead to its name.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap {

/// A wrapper of `Hook`, a `ManualHook`, for one custom allocator. Attributes its blocks to a tag of
/// its name, and shows its overhead (headers, and free memory it holds) beside it:
///
///     alloctap::NamedAllocator<Tracker::Hook> arena{"FrameArena"};
///     ...  arena.on_allocate(block, bytes);  ...  arena.on_free(block);
///     ...  arena.set_overhead(pages_held - bytes_in_use);
///
/// The tag is a top-level one, regardless of the thread's current tag: the stack shows the caller.
/// Pass `parent` if the allocator belongs to a part of the program. Allocators of one name share a
/// tag, and their overheads add up. Without a name, or if the tag table is full, the parent's tag
/// is used; no overhead is kept for memory without a tag. If the tracker's `Tags` do not support
/// tags, only blocks are recorded. Overhead is in no other total, because it was not allocated.
///
/// Thread-safe. Block functions are callable wherever those of `Hook` are, including inside malloc;
/// the others are control plane. The destructor removes the overhead.
template <class Hook>
class NamedAllocator {
 public:
  explicit NamedAllocator(std::string_view name, Tag parent = {}) noexcept
      : tag_{process_tags.find_or_add(parent.id, name)} {}
  NamedAllocator(const NamedAllocator&) = delete;
  NamedAllocator& operator=(const NamedAllocator&) = delete;
  ~NamedAllocator() { set_overhead(0); }

  // All inlined, so that stacks begin in the program.

  /// Forward to `ManualHook` inside the tag; sizes and alignments in bytes.
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

  /// Sets the bytes held beyond the blocks.
  void set_overhead(std::uint64_t bytes) noexcept {
    const auto now = static_cast<std::int64_t>(bytes);
    const std::int64_t before = overhead_.exchange(now, std::memory_order_relaxed);
    process_tags.add_overhead(tag_.id, now - before);
  }

  /// Adjusts the bytes held beyond the blocks. A negative sum is reported as 0.
  void add_overhead(std::int64_t bytes) noexcept {
    overhead_.fetch_add(bytes, std::memory_order_relaxed);
    process_tags.add_overhead(tag_.id, bytes);
  }

  [[nodiscard]] Tag tag() const noexcept { return tag_; }

 private:
  const Tag tag_;
  std::atomic<std::int64_t> overhead_{0};
};

}  // namespace alloctap
