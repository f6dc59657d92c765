#include <doctest/doctest.h>

#include <cstring>

#include "alloctap/stack/chain_walk.hpp"

namespace {

using alloctap::NotedFrame;
using alloctap::UnwindBuffer;
using alloctap::UnwindFrame;

constexpr std::size_t kWalked = 4;

}  // namespace

TEST_CASE("a walk begins with a frame that no word told, whatever was in the memory before") {
  UnwindBuffer walked;
  REQUIRE(walked.reserve(kWalked));
  for (const int content : {0xFF, 0x01, 0x00}) {
    for (std::size_t i = 0; i < kWalked; ++i) {
      std::memset(static_cast<void*>(&walked[i]), content, sizeof(NotedFrame));
    }
    const UnwindFrame leaf{.pc = 1, .sp = 2, .fp = 3};
    walked.restart(leaf);
    CHECK(walked.size() == 1);
    CHECK(walked.last().frame == leaf);
    CHECK(walked.last().step.word_count == 0);
    CHECK_FALSE(walked.last().step.last_word_is_frame_pointer);
  }
  walked.release();
}

TEST_CASE("frames are added outwards") {
  UnwindBuffer walked;
  REQUIRE(walked.reserve(kWalked));
  walked.restart({.pc = 1, .sp = 2, .fp = 3});
  walked.next().frame = {.pc = 4, .sp = 5, .fp = 6};
  CHECK(walked.size() == 1);
  walked.add();
  CHECK(walked.size() == 2);
  CHECK(walked[1].frame.pc == 4);
  CHECK(&walked.last() == &walked[1]);
  walked.release();
  CHECK(walked.capacity() == 0);
}

TEST_CASE("frames that were written where they go are kept up to one of them") {
  UnwindBuffer walked;
  REQUIRE(walked.reserve(kWalked));
  NotedFrame* const leaf = &walked.restart({.pc = 1, .sp = 2, .fp = 3});
  CHECK(leaf == &walked[0]);
  leaf[1].frame.pc = 4;
  leaf[2].frame.pc = 7;
  CHECK(walked.size() == 1);
  walked.add_up_to(leaf[1]);
  CHECK(&walked.last() == leaf + 1);
  CHECK(walked.next().frame.pc == 7);
  REQUIRE(walked.all().size() == 2);
  CHECK(walked.all()[1].frame.pc == 4);
  walked.release();
}
