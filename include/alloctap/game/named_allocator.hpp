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

/// Wraps `Hook`, a `ManualHook`, for one custom allocator. Attributes the allocator's blocks to a
/// tag of the same name. Reports show its overhead (headers and free memory) beside that tag:
///
///     alloctap::NamedAllocator<Tracker::Hook> arena{"FrameArena"};
///     ...  arena.on_allocate(block, bytes);  ...  arena.on_free(block);
///     ...  arena.set_overhead(pages_held - bytes_in_use);
///
/// The tag is not nested in the thread's current tag, because the block's stack already shows the
/// caller. Pass `parent` to nest the tag in another tag. Allocators with equal names and parents
/// share a tag, and their overheads add up. With an empty name, or if the tag table is full, the
/// parent's tag is used. Overhead without a tag is dropped. If the tracker's `Tags` do not support
/// tags, only blocks are recorded. No other total includes overhead, because it was not allocated.
///
/// Thread-safe. The functions for blocks may be called wherever those of `Hook` may, including
/// inside malloc. All other functions are control plane. The destructor sets the overhead to 0.
template <class Hook>
class NamedAllocator {
 public:
  explicit NamedAllocator(std::string_view name, Tag parent = {}) noexcept
      : tag_{process_tags.find_or_add(parent.id, name)} {}
  NamedAllocator(const NamedAllocator&) = delete;
  NamedAllocator& operator=(const NamedAllocator&) = delete;
  ~NamedAllocator() { set_overhead(0); }

  // All functions are inlined, so that captured stacks begin in the program.

  /// The functions for blocks call those of `Hook`, with the allocator's tag as current tag. Sizes
  /// and alignments are in bytes.
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

  /// Adds `bytes`, which may be negative, to the overhead. Reports show a negative sum as 0.
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
