#include "alloctap/meta/shadow_record.hpp"

#include <doctest/doctest.h>

#include <cstdint>

namespace {

using alloctap::BlockRecord;
using alloctap::ShadowRecord;
using Words = ShadowRecord::Words;

constexpr alloctap::StackId kSmallStackEnd = 1U << 26;
constexpr alloctap::StackId kStackEnd = 1U << 30;
constexpr std::uint64_t kSizeEnd = std::uint64_t{1} << 30;

void check_words(const BlockRecord& record, bool takes_two) {
  CAPTURE(record.stack);
  CAPTURE(record.size);
  const Words words = ShadowRecord::encode(record);
  CHECK(words.head != ShadowRecord::kElsewhere);
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
  return ShadowRecord::encode(record).head == ShadowRecord::kElsewhere;
}

}  // namespace

TEST_CASE("a block of up to 16 bytes takes one word") {
  for (std::uint64_t size = 0; size <= 16; ++size) {
    check_words({.stack = 1, .size = size}, false);
    check_words({.stack = kSmallStackEnd - 1, .size = size}, false);
  }
}

TEST_CASE("a larger block takes two") {
  for (const std::uint64_t size : {std::uint64_t{17}, std::uint64_t{4096}, kSizeEnd - 1}) {
    check_words({.stack = 1, .size = size}, true);
    check_words({.stack = kStackEnd - 1, .size = size}, true);
  }
}

TEST_CASE("what fits neither way is elsewhere") {
  CHECK(is_elsewhere({.stack = kSmallStackEnd, .size = 16}));
  CHECK(is_elsewhere({.stack = kStackEnd, .size = 17}));
  CHECK(is_elsewhere({.stack = 1, .size = kSizeEnd}));
  CHECK(is_elsewhere({.stack = 1, .size = UINT64_MAX}));
  CHECK(ShadowRecord::begins_block(ShadowRecord::kElsewhere));
  CHECK_FALSE(ShadowRecord::size_follows(ShadowRecord::kElsewhere));
}

TEST_CASE("an empty word begins no block and is no size") {
  CHECK_FALSE(ShadowRecord::begins_block(0));
  CHECK_FALSE(ShadowRecord::is_size(0));
}
