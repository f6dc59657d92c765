/// The latest markers that the program set in the timeline.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// A ring buffer of the latest `kCapacity` markers, with copies of their names. Bounded arena
/// memory. Constant-initialized. Not thread-safe.
class MarkerRing {
 public:
  static constexpr std::size_t kCapacity = 1024;
  /// Bytes; longer names are cut.
  static constexpr std::size_t kLongestName = 111;

  /// Adds a marker. Does nothing if out of memory.
  void add(std::int64_t time_ns, std::string_view name) noexcept {
    if (entries_.empty() && !entries_.resize(kCapacity)) return;
    Entry& entry = entries_[added_++ % kCapacity];
    entry.time_ns = time_ns;
    entry.length = static_cast<std::uint8_t>(std::min(name.size(), kLongestName));
    if (entry.length > 0) std::memcpy(entry.name, name.data(), entry.length);
  }

  /// Returns the number of overwritten markers.
  [[nodiscard]] std::uint64_t forgotten() const noexcept {
    return added_ - std::min<std::uint64_t>(added_, kCapacity);
  }

  /// Calls `visit(time_ns, name)` for each marker, oldest first.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::uint64_t i = forgotten(); i < added_; ++i) {
      const Entry& entry = entries_[i % kCapacity];
      visit(entry.time_ns, std::string_view(entry.name, entry.length));
    }
  }

 private:
  struct Entry {
    std::int64_t time_ns = 0;
    std::uint8_t length = 0;
    char name[kLongestName] = {};
  };
  static_assert(sizeof(Entry) == 120);

  ArenaArray<Entry> entries_;
  std::uint64_t added_ = 0;
};

}  // namespace alloctap
