#include <doctest/doctest.h>

#include <string>

#include "alloctap/dump/text/text_findings.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "tests/support/framed_report.hpp"

namespace {

using namespace alloctap::testing;
using alloctap::TextDump;

}  // namespace

TEST_CASE("the text tells how frames are, which are worst and why, and how budgets were kept") {
  const FramedReport sample;
  const std::string text = render(TextDump{}, sample.report());
  const std::size_t begin = text.find("\nFrames of the game");
  const std::size_t end = text.find("\nStacks that hold");
  REQUIRE(end > begin);
  CHECK(text.substr(begin, end - begin) == R"(
Frames of the game: 3; 4 marks met another and did nothing; the marking thread changed 5 times
  allocations   half of the frames at most 127, the worst 100 (frame 2)
  bytes         half of the frames at most 127 B, the worst 4.9 KiB (frame 2)
  duration      half of the frames at most 0.000 ms, the worst 10.000 ms (frame 2)

Most allocations: frame 2, 10.000 ms; 100 allocations of 4.9 KiB, 0.070 ms in the allocator
  90 of 4.8 KiB, 0.060 ms
    of tag Game/Physics
    engine::load(char const*)   0x1010
    main   0x3000

Most allocated_bytes: frame 2, 10.000 ms; 100 allocations of 4.9 KiB, 0.070 ms in the allocator
  its slowest call of those that were timed: 0.050 ms to reallocate 2.9 KiB, cause unknown
    engine::load(char const*)   0x1010
    main   0x3000
  90 of 4.8 KiB, 0.060 ms
    of tag Game/Physics
    engine::load(char const*)   0x1010
    main   0x3000

Most duration_ns: frame 2, 10.000 ms; 100 allocations of 4.9 KiB, 0.070 ms in the allocator
  its slowest call of those that were timed: 0.050 ms to reallocate 2.9 KiB, cause wait (3 page faults, 1 wait, preempted 2 times)
    engine::load(char const*)   0x1010
    main   0x3000
  90 of 4.8 KiB, 0.060 ms
    of tag Game/Physics
    engine::load(char const*)   0x1010
    main   0x3000

Budgets
  over held_bytes 4,000: at most 4,500, exceeded 1 time   Game/Physics

Last over a budget: Game/Physics, 4,100 of 4,000 held_bytes, in frame 2
    ??   0x5010
)");
}

TEST_CASE("without frames and budgets the text does not speak of them") {
  FramedReport sample;
  sample.snapshot.frames.frames = 0;
  CHECK(render(TextDump{}, sample.report()).find("Frames of the game") == std::string::npos);
  sample.snapshot.frames = {};
  CHECK(render(TextDump{}, sample.report()).find("Budgets") == std::string::npos);
}
