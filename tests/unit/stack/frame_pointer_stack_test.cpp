// Compiled with -fno-omit-frame-pointer: tests/CMakeLists.txt.
#include "alloctap/stack/frame_pointer_stack.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "tests/support/address_of.hpp"
#include "tests/support/call_chain.hpp"

namespace {

using alloctap::CallOrigin;
using alloctap::CapturedStack;
using alloctap::FramePointerStack;
using alloctap::ThreadStates;
using alloctap::arch::FrameRecord;
using alloctap::testing::address_of;
using alloctap::testing::capture_known_stack;
using alloctap::testing::SeenStack;

/// The calls of this file have frame pointers; those of others need not.
struct WithFramePointers;

SeenStack capture(std::size_t depth, std::size_t room) {
  return capture_known_stack<FramePointerStack, WithFramePointers>(depth, room);
}

constexpr std::uintptr_t kCaller = 0x1000;

/// Frame records of our own making, of a function called from 0x1000 and its callers at 0x1001 and
/// on, up to an outermost one.
struct FakeFrames {
  FakeFrames() {
    for (std::size_t i = 0; i + 1 < records.size(); ++i) {
      records[i] = {.caller_frame = address_of(&records[i + 1]), .return_address = kCaller + i};
    }
    records.back() = {.caller_frame = 0, .return_address = kCaller + records.size() - 1};
  }

  CapturedStack walk(std::size_t room = 8) {
    return FramePointerStack::capture(
        *ThreadStates::mine(),
        {.caller = reinterpret_cast<const void*>(kCaller), .frame = records.data()},
        {frames.data(), room});
  }

  alignas(16) std::array<FrameRecord, 4> records{};
  std::array<std::uintptr_t, 8> frames{};
};

}  // namespace

TEST_CASE("frame pointers lead from the caller of the hook outwards, as the unwinder does") {
  const SeenStack seen = capture(20, 512);
  REQUIRE(seen.result.depth >= seen.expected.size());
  CHECK(std::equal(seen.expected.begin(), seen.expected.end(), seen.frames.begin()));
}

TEST_CASE("frame pointers are followed as far as there is room") {
  const SeenStack seen = capture(20, 6);
  CHECK(seen.result.depth == 6);
  CHECK(seen.result.truncated);
  CHECK_FALSE(seen.result.failed);
  CHECK(std::equal(seen.frames.begin(), seen.frames.begin() + 6, seen.expected.begin()));
  CHECK(seen.frames[6] == alloctap::testing::kUntouched);
}

TEST_CASE("a chain of frame records that ends in a null pointer is complete") {
  FakeFrames fake;
  const CapturedStack stack = fake.walk();
  CHECK(stack.depth == 4);
  CHECK_FALSE(stack.failed);
  CHECK_FALSE(stack.truncated);
  CHECK(fake.frames[0] == kCaller);
  CHECK(fake.frames[3] == kCaller + 3);
  CHECK_FALSE(fake.walk(4).truncated);
  CHECK(fake.walk(3).truncated);
}

TEST_CASE("a record without a return address is the outermost") {
  FakeFrames fake;
  fake.records[2].return_address = 0;
  const CapturedStack stack = fake.walk();
  CHECK(stack.depth == 2);
  CHECK_FALSE(stack.failed);
}

TEST_CASE("a frame pointer that cannot be one ends the walk as failed") {
  const FakeFrames whole;
  const std::uintptr_t above = address_of(&whole.records[3]);
  const std::uintptr_t bounds_end = alloctap::os::find_stack_bounds(above).high;
  for (const std::uintptr_t wrong :
       {std::uintptr_t{1}, std::uintptr_t{0x10000}, above + 4, bounds_end, bounds_end - 8,
        UINTPTR_MAX, UINTPTR_MAX - 7, UINTPTR_MAX - 15, UINTPTR_MAX - 23}) {
    CAPTURE(wrong);
    FakeFrames fake;
    fake.records[1].caller_frame = wrong;
    const CapturedStack stack = fake.walk();
    CHECK(stack.depth == 2);
    CHECK(stack.failed);
  }
}

TEST_CASE("a frame pointer that leads inwards, or to itself, ends the walk as failed") {
  FakeFrames fake;
  fake.records[2].caller_frame = address_of(&fake.records[2]);
  CHECK(fake.walk().depth == 3);
  CHECK(fake.walk().failed);
  fake.records[2].caller_frame = address_of(&fake.records[0]);
  CHECK(fake.walk().depth == 3);
  CHECK(fake.walk().failed);
}

TEST_CASE("without a frame address there is the caller alone, and the walk failed") {
  std::array<std::uintptr_t, 4> frames{};
  const CapturedStack stack =
      FramePointerStack::capture(*ThreadStates::mine(), {.caller = &frames}, frames);
  CHECK(stack.depth == 1);
  CHECK(stack.failed);
  CHECK(frames[0] == address_of(&frames));
}

TEST_CASE("frames of a stack that the program made itself are followed too") {
  static FakeFrames elsewhere;
  CHECK(FakeFrames().walk().depth == 4);
  CHECK(elsewhere.walk().depth == 4);
  CHECK_FALSE(elsewhere.walk().failed);
  CHECK(FakeFrames().walk().depth == 4);
}
