/// The table of tags, with their names and nesting.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/static_objects.hpp"
#include "alloctap/runtime/text_bytes.hpp"

namespace alloctap {

/// A bounded table of tags; each has a name and may be nested in another tag. Lookup is lock-free;
/// adding acquires a lock. Tags are never removed. Thread-safe, safe around fork. Hooks may use
/// only const functions. Names are arena memory. Constant-initialized, never destroyed.
class TagTable {
 public:
  static constexpr std::size_t kMaxTags = 16'383;
  /// The maximum length in bytes; longer names are cut.
  static constexpr std::size_t kLongestName = 200;

  constexpr TagTable() noexcept = default;
  TagTable(const TagTable&) = delete;
  TagTable& operator=(const TagTable&) = delete;

  /// Returns the tag `name` in `parent`, added if needed. Returns `parent` if `name` is empty, the
  /// table is full or memory ran out, so that blocks are attributed to the enclosing tag.
  [[nodiscard]] TagId find_or_add(TagId parent, std::string_view name) noexcept;

  /// Returns the tag's name, which is never freed; empty for `kNoTag` and unassigned ids.
  [[nodiscard]] std::string_view name(TagId id) const noexcept {
    if (id == kNoTag || id >= end_id()) return {};
    return entries_[id].load(std::memory_order_acquire)->text();
  }

  /// Returns the enclosing tag, whose id is lower; `kNoTag` for a tag at the top level.
  [[nodiscard]] TagId parent(TagId id) const noexcept {
    if (id == kNoTag || id >= end_id()) return kNoTag;
    return entries_[id].load(std::memory_order_acquire)->parent;
  }

  /// Adds `bytes` to the overhead of the custom allocator that the tag names: the memory that this
  /// allocator uses besides blocks. `bytes` may be negative. Ignores `kNoTag` and unassigned ids.
  void add_overhead(TagId id, std::int64_t bytes) const noexcept;

  /// Returns the overhead in bytes; 0 if the sum of the changes is negative.
  [[nodiscard]] std::uint64_t overhead(TagId id) const noexcept;

  /// Returns one more than the highest assigned id; ids start at 1.
  [[nodiscard]] TagId end_id() const noexcept {
    return static_cast<TagId>(added_.load(std::memory_order_acquire) + 1);
  }

 private:
  /// The tag's name follows this header in memory.
  struct Entry {
    std::uint64_t hash = 0;
    TagId parent = kNoTag;
    std::uint16_t length = 0;
    mutable std::atomic<std::int64_t> overhead{0};

    [[nodiscard]] std::string_view text() const noexcept {
      return {reinterpret_cast<const char*>(this + 1), length};
    }
  };
  /// The number of hash slots, of which at most half are used.
  static constexpr std::size_t kPlaces = 32'768;

  /// Hashes the parent, too, so that equal names in different parents have different hashes.
  static std::uint64_t hash_of(TagId parent, std::string_view name) noexcept {
    return (hash_text(name) + parent) * 0x9E3779B97F4A7C15;
  }

  /// A hash slot and the tag in it; `id` is `kNoTag` if the slot is empty.
  struct Place {
    std::size_t at;
    TagId id;
  };

  [[nodiscard]] Place find(std::string_view name, std::uint64_t hash) const noexcept;

  TagId add(TagId parent, std::string_view name, std::uint64_t hash) noexcept;

  FutexLock lock_;
  /// Zero-initialized, so that a static table is in .bss.
  std::atomic<TagId> added_{0};
  ZeroedArray<std::atomic<const Entry*>, kMaxTags + 1> entries_;
  ZeroedArray<std::atomic<TagId>, kPlaces> places_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/tag/impl/tag_table.hpp"
#endif
