/// What tags are called.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/event/stack_owner.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/text_hash.hpp"
#include "alloctap/runtime/zeroed_array.hpp"

namespace alloctap {

/// A bounded set of tags, each a name inside of another tag or of none. Looking up takes no lock;
/// adding takes one. Tags are never removed. Thread-safe, and safe around fork; memory from the
/// arena; not to be used inside a hook, but for what is const. Constant-initialized, deliberately
/// never destroyed.
class TagTable {
 public:
  static constexpr std::size_t kMaxTags = 16'383;
  /// In bytes; longer names are cut.
  static constexpr std::size_t kLongestName = 200;

  constexpr TagTable() noexcept = default;
  TagTable(const TagTable&) = delete;
  TagTable& operator=(const TagTable&) = delete;

  /// The tag `name` inside of `parent`, added if need be. Where `name` is empty, the table is full
  /// or the system has no memory it is `parent`: the memory is put down to the tag around it then.
  [[nodiscard]] TagId find_or_add(TagId parent, std::string_view name) noexcept;

  /// Valid as long as the table; empty of `kNoTag` and of ids that were never given out.
  [[nodiscard]] std::string_view name(TagId id) const noexcept {
    if (id == kNoTag || id >= end_id()) return {};
    return entries_[id].load(std::memory_order_acquire)->text();
  }

  /// The tag around `id`, whose id is lower; `kNoTag` of an outermost one.
  [[nodiscard]] TagId parent(TagId id) const noexcept {
    if (id == kNoTag || id >= end_id()) return kNoTag;
    return entries_[id].load(std::memory_order_acquire)->parent;
  }

  /// Adds to what the allocator that is named so holds beyond its blocks. Nothing is kept of
  /// `kNoTag` and of ids that were never given out.
  void add_overhead(TagId id, std::int64_t bytes) const noexcept;

  /// The sum of that, in bytes; 0 where more was taken than added.
  [[nodiscard]] std::uint64_t overhead(TagId id) const noexcept;

  /// One above the highest id given out; ids start at 1.
  [[nodiscard]] TagId end_id() const noexcept {
    return static_cast<TagId>(added_.load(std::memory_order_acquire) + 1);
  }

 private:
  /// With the name behind it.
  struct Entry {
    std::uint64_t hash = 0;
    TagId parent = kNoTag;
    std::uint16_t length = 0;
    mutable std::atomic<std::int64_t> overhead{0};

    [[nodiscard]] std::string_view text() const noexcept {
      return {reinterpret_cast<const char*>(this + 1), length};
    }
  };
  /// At most half full.
  static constexpr std::size_t kPlaces = 32'768;

  /// Of two tags with one name, the hashes differ as their parents do.
  static std::uint64_t hash_of(TagId parent, std::string_view name) noexcept {
    return (hash_text(name) + parent) * 0x9E3779B97F4A7C15;
  }

  /// Where a tag is, or would be with the id `kNoTag`.
  struct Place {
    std::size_t at;
    TagId id;
  };

  [[nodiscard]] Place find(std::string_view name, std::uint64_t hash) const noexcept;

  TagId add(TagId parent, std::string_view name, std::uint64_t hash) noexcept;

  FutexLock lock_;
  /// Initially 0, so that a static table takes no room in files.
  std::atomic<TagId> added_{0};
  ZeroedArray<std::atomic<const Entry*>, kMaxTags + 1> entries_;
  ZeroedArray<std::atomic<TagId>, kPlaces> places_;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/tag/impl/tag_table.hpp"
#endif
