/// Attribution of a custom allocator's blocks and overhead to a tag.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap {

/// Wraps `Hook`, a `ManualHook`, for one custom allocator. Attributes its blocks to a tag with the
/// allocator's name. Reports show its overhead (headers, and free memory it holds) beside that tag:
///
///     alloctap::NamedAllocator<Tracker::Hook> arena{"FrameArena"};
///     ...  arena.on_allocate(block, bytes);  ...  arena.on_free(block);
///     ...  arena.set_overhead(pages_held - bytes_in_use);
///
/// The tag is top-level, whichever tag the thread has entered: the block's stack already shows the
/// caller. Pass `parent` to nest the tag in another tag. Allocators with equal names share a tag,
/// and their overheads add up. Without a name, or if the tag table is full, the parent's tag is
/// used. Overhead without a tag is dropped. If the tracker's `Tags` do not support tags, only
/// blocks are recorded. No other total includes overhead, because it was not allocated.
///
/// Thread-safe. Block functions may be called wherever those of `Hook` may, including inside
/// malloc. All other functions are control plane. The destructor removes the overhead.
template <class Hook>
class NamedAllocator {
 public:
  explicit NamedAllocator(std::string_view name, Tag parent = {}) noexcept
      : tag_{process_tags.find_or_add(parent.id, name)} {}
  NamedAllocator(const NamedAllocator&) = delete;
  NamedAllocator& operator=(const NamedAllocator&) = delete;
  ~NamedAllocator() { set_overhead(0); }

  // All functions are inlined, so that captured stacks begin in the program.

  /// Call the `ManualHook` function with the allocator's tag entered. Values are in bytes.
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

  /// Sets the overhead: bytes that the allocator holds besides its blocks.
  void set_overhead(std::uint64_t bytes) noexcept {
    const auto now = static_cast<std::int64_t>(bytes);
    const std::int64_t before = overhead_.exchange(now, std::memory_order_relaxed);
    process_tags.add_overhead(tag_.id, now - before);
  }

  /// Adds to the overhead. A negative sum is reported as 0.
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
