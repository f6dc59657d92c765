#include <doctest/doctest.h>

#include <cstdint>

#include "alloctap/meta/shadow_index.hpp"

namespace {

using alloctap::BlockRecord;
using alloctap::ShadowRecord;
using Words = ShadowRecord::Words;

constexpr alloctap::StackId kSmallStackEnd = 1U << 23;
constexpr alloctap::StackId kStackEnd = 1U << 29;
/// As of words that stand for 16 bytes, and for 32.
constexpr std::uint64_t kLargestAlone[] = {16, 48};
constexpr std::uint64_t kSizeEnd = std::uint64_t{1} << 30;

void check_words(const BlockRecord& record, std::uint64_t largest_alone, bool takes_two,
                 std::uint32_t odd = 0) {
  CAPTURE(record.stack);
  CAPTURE(record.size);
  Words words = ShadowRecord::encode(record, largest_alone);
  CHECK_FALSE(ShadowRecord::is_odd(words.head));
  words.head |= odd;
  CHECK(ShadowRecord::is_odd(words.head) == (odd != 0));
  CHECK_FALSE(ShadowRecord::is_elsewhere(words.head));
  CHECK(ShadowRecord::begins_block(words.head));
  CHECK_FALSE(ShadowRecord::is_size(words.head));
  CHECK(ShadowRecord::size_follows(words.head) == takes_two);
  CHECK((words.size != 0) == takes_two);
  if (takes_two) CHECK(ShadowRecord::is_size(words.size));
  CHECK_FALSE(ShadowRecord::begins_block(words.size));
  const BlockRecord decoded = ShadowRecord::decode(words);
  CHECK(decoded.stack == record.stack);
  CHECK(decoded.size == record.size);
}

bool is_elsewhere(const BlockRecord& record) {
  return ShadowRecord::encode(record, 16).head == ShadowRecord::kElsewhere;
}

void check_at_both_ends(std::uint64_t size, std::uint64_t largest_alone, bool takes_two) {
  const alloctap::StackId end = takes_two ? kStackEnd : kSmallStackEnd;
  for (const std::uint32_t odd : {std::uint32_t{0}, ShadowRecord::kOdd}) {
    check_words({.stack = 1, .size = size}, largest_alone, takes_two, odd);
    check_words({.stack = end - 1, .size = size}, largest_alone, takes_two, odd);
  }
}

}  // namespace

TEST_CASE("a block that may be alone takes one word, odd or not") {
  for (const std::uint64_t largest : kLargestAlone) {
    for (std::uint64_t size = 0; size <= largest; ++size) check_at_both_ends(size, largest, false);
  }
}

TEST_CASE("a larger block takes two") {
  for (const std::uint64_t largest : kLargestAlone) {
    for (const std::uint64_t size : {largest + 1, std::uint64_t{4096}, kSizeEnd - 1}) {
      check_at_both_ends(size, largest, true);
    }
  }
}

TEST_CASE("what fits neither way is elsewhere") {
  CHECK(is_elsewhere({.stack = kSmallStackEnd, .size = 16}));
  CHECK(is_elsewhere({.stack = kStackEnd, .size = 17}));
  CHECK(is_elsewhere({.stack = 1, .size = kSizeEnd}));
  CHECK(is_elsewhere({.stack = 1, .size = UINT64_MAX}));
  CHECK(ShadowRecord::begins_block(ShadowRecord::kElsewhere));
  CHECK(ShadowRecord::is_elsewhere(ShadowRecord::kElsewhere | ShadowRecord::kOdd));
  CHECK_FALSE(ShadowRecord::size_follows(ShadowRecord::kElsewhere));
}

TEST_CASE("an empty word begins no block and is no size") {
  CHECK_FALSE(ShadowRecord::begins_block(0));
  CHECK_FALSE(ShadowRecord::is_size(0));
}
