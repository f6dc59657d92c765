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

/// Paths, such as "Game/Physics", of the tags at construction. Allocated in the arena. Move-only.
class TagPaths {
 public:
  /// Maximum bytes of a path. Longer paths are truncated at the end.
  static constexpr std::size_t kLongest = 1000;

  /// Builds the paths. If `tags` is nullptr, there are no paths.
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

  /// Returns the number of tags, `kNoTag` included. Valid ids are below it.
  [[nodiscard]] std::size_t size() const noexcept { return paths_.size(); }

  /// Returns the path, which lives as long as this object. Empty for `kNoTag` and unknown tags.
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
