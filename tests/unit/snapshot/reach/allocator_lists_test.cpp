#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "alloctap/snapshot/reach/frozen_scan.hpp"

namespace {

using alloctap::AddressRange;
using alloctap::find_allocator_lists;

constexpr std::uintptr_t kListData = 0x5000;
constexpr std::size_t kFirstList = 100;
constexpr std::size_t kLists = 127;

/// A module's data with an arena in it, of which `used` lists at the front hold chunks.
std::vector<std::uintptr_t> data_with_lists(std::size_t used) {
  std::vector<std::uintptr_t> words(1000, 7);
  for (std::size_t list = 0; list < kLists; ++list) {
    const std::size_t at = kFirstList + 2 * list;
    const std::uintptr_t head = list < used ? 0x9000 + list : kListData + (at - 2) * 8;
    words[at] = head;
    words[at + 1] = head;
  }
  return words;
}

}  // namespace

TEST_CASE("an arena's lists are found with what stands before them") {
  for (const std::size_t used : {std::size_t{0}, std::size_t{1}, std::size_t{60}}) {
    CAPTURE(used);
    const AddressRange lists = find_allocator_lists(data_with_lists(used), kListData);
    CHECK(lists.start == kListData + (kFirstList - 14) * 8);
    CHECK(lists.end == kListData + (kFirstList + 2 * kLists) * 8);
  }
}

TEST_CASE("where all but a few lists are in use they are not found") {
  CHECK(find_allocator_lists(data_with_lists(kLists - 5), kListData).empty());
}

TEST_CASE("data that has no lists is left alone") {
  CHECK(find_allocator_lists({}, kListData).empty());
  std::vector<std::uintptr_t> words(1000, 0);
  CHECK(find_allocator_lists(words, kListData).empty());
  // Heads of empty lists of other kinds point at themselves.
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = kListData + i / 2 * 16;
  CHECK(find_allocator_lists(words, kListData).empty());
}
