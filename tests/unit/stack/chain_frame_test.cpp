#include <doctest/doctest.h>

#include <array>
#include <cstdint>

#include "alloctap/stack/cached_frame_chain.hpp"

namespace {

using alloctap::ChainFrame;
using alloctap::ChainPlace;

constexpr ChainFrame frame(std::uintptr_t sp, bool pointer_matters = false) {
  return {.frame = {.pc = sp + 1, .sp = sp, .fp = sp + 2},
          .words_end = 0,
          .pointer_matters = pointer_matters,
          .by_records = false};
}

/// The end, and three frames inwards.
constexpr std::array<ChainFrame, 4> kChain{frame(UINTPTR_MAX), frame(300), frame(200), frame(100)};

}  // namespace

TEST_CASE("a place in a chain goes out as far as the stack pointer, and no further than the end") {
  ChainPlace place(&kChain[3]);
  for (const std::uintptr_t inside : {50U, 100U}) {
    place.go_out_to(inside);
    CHECK(place.frame() == &kChain[3]);
  }
  place.go_out_to(101);
  CHECK(place.frame() == &kChain[2]);
  place.go_out_to(300);
  CHECK(place.frame() == &kChain[1]);
  place.go_out_to(301);
  CHECK(place.frame() == &kChain[0]);
  place.go_out_to(UINTPTR_MAX);
  CHECK(place.frame() == &kChain[0]);
  ChainPlace distant(&kChain[3]);
  distant.go_out_to(400);
  CHECK(distant.frame() == &kChain[0]);
}

TEST_CASE(
    "a frame of a chain is met by its address, its stack pointer, and its pointer if it matters") {
  for (const bool matters : {false, true}) {
    const ChainFrame kept = frame(100, matters);
    const ChainPlace place(&kept);
    CHECK(place.is({.pc = 101, .sp = 100, .fp = 102}));
    CHECK_FALSE(place.is({.pc = 102, .sp = 100, .fp = 102}));
    CHECK_FALSE(place.is({.pc = 101, .sp = 108, .fp = 102}));
    CHECK(place.is({.pc = 101, .sp = 100, .fp = 110}) != matters);
  }
}
