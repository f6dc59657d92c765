/// Full paths of tags.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "alloctap/event/stack_owner.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_pool.hpp"
#include "alloctap/tag/tag_table.hpp"

namespace alloctap {

/// The paths of all tags that exist at construction, such as "Game/Physics". Memory from the arena.
/// Move-only.
class TagPaths {
 public:
  /// Maximum bytes; longer paths are truncated at the end.
  static constexpr std::size_t kLongest = 1000;

  /// Builds the paths; with nullptr, the table is empty.
  explicit TagPaths(const TagTable* tags) noexcept {
    if (tags == nullptr) return;
    const TagId end = tags->end_id();
    complete_ = paths_.resize(end);
    for (TagId id = 1; complete_ && id < end; ++id) {
      paths_[id] = join(paths_[tags->parent(id)], tags->name(id));
    }
  }

  /// Returns false if memory ran out before all paths were built.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Returns the highest TagId plus 1.
  [[nodiscard]] std::size_t size() const noexcept { return paths_.size(); }

  /// Returns the path, or an empty string for `kNoTag` and unknown tags. Valid as long as this
  /// object.
  [[nodiscard]] std::string_view of(TagId tag) const noexcept {
    return tag < paths_.size() ? paths_[tag] : std::string_view();
  }

 private:
  std::string_view join(std::string_view around, std::string_view name) noexcept {
    char text[kLongest];
    std::size_t length = around.copy(text, kLongest);
    if (!around.empty() && length < kLongest) text[length++] = '/';
    length += name.copy(text + length, kLongest - length);
    const std::string_view kept = texts_.keep({text, length});
    complete_ = complete_ && kept.size() == length;
    return kept;
  }

  ArenaArray<std::string_view> paths_;
  TextPool texts_;
  bool complete_ = true;
};

}  // namespace alloctap
