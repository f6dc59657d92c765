/// Merges list elements that have equal keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// Sorts `list` by `key` (a member or a function of an element). Then merges each run of elements
/// with equal keys into its first: calls `add(first, other)` for every other element and removes
/// that element. Not thread-safe; allocates nothing.
template <class T, class Key, class Add>
void join_equal(ArenaArray<T>& list, Key key, Add add) noexcept {
  std::sort(list.begin(), list.end(),
            [&](const T& a, const T& b) { return std::invoke(key, a) < std::invoke(key, b); });
  std::size_t kept = 0;
  for (const T& next : list) {
    if (kept > 0 && std::invoke(key, list[kept - 1]) == std::invoke(key, next)) {
      add(list[kept - 1], next);
    } else {
      list[kept++] = next;
    }
  }
  list.shrink(kept);
}

}  // namespace alloctap
