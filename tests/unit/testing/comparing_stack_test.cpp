#include "tests/support/comparing_stack.hpp"

#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "alloctap/stack/backtrace_stack.hpp"
#include "alloctap/stack/unwind_table_stack.hpp"
#include "tests/support/call_chain.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

/// Says what the test wants it to say.
template <int number>
struct SpokenStack {
  static constexpr std::string_view name = "spoken";
  static inline std::vector<std::uintptr_t> frames;
  static inline CapturedStack result;

  static CapturedStack capture(ThreadState&, const CallOrigin&,
                               std::span<std::uintptr_t> room) noexcept {
    std::copy(frames.begin(), frames.end(), room.begin());
    return result;
  }
  static void say(const std::vector<std::uintptr_t>& spoken, bool truncated = false,
                  bool failed = false) {
    frames = spoken;
    result = {.depth = static_cast<std::uint32_t>(spoken.size()),
              .truncated = truncated,
              .failed = failed};
  }
};

using Tested = SpokenStack<1>;
using Trusted = SpokenStack<2>;
using Comparing = ComparingStack<Tested, Trusted>;

/// Knows the frames, and a hash that is not theirs.
struct WrongHashStack : Tested {
  static IdentifiedStack identify(ThreadState& thread, const CallOrigin& origin,
                                  std::uint32_t max_frames) noexcept {
    return {.hash = {}, .stack = capture(thread, origin, {thread.frames, max_frames})};
  }
  static std::span<const std::uintptr_t> identified_frames(
      ThreadState& thread, const IdentifiedStack& identified) noexcept {
    return {thread.frames, identified.stack.depth};
  }
};

std::vector<std::uintptr_t> numbers(std::size_t count) {
  std::vector<std::uintptr_t> frames;
  for (std::size_t i = 0; i < count; ++i) frames.push_back(0x1000 + i);
  return frames;
}

template <class Policy = Comparing>
StackComparison compare_once() {
  Policy::forget();
  std::array<std::uintptr_t, 64> frames{};
  const CapturedStack handed_on = Policy::capture(*ThreadStates::mine(), {}, frames);
  CHECK(handed_on.depth == Tested::result.depth);
  CHECK(handed_on.failed == Tested::result.failed);
  CHECK(std::equal(Tested::frames.begin(), Tested::frames.end(), frames.begin()));
  return Policy::comparison();
}

}  // namespace

TEST_CASE("equal captures are counted and nothing is kept") {
  Tested::say(numbers(5));
  Trusted::say(numbers(5));
  const StackComparison comparison = compare_once();
  CHECK(comparison.captures == 1);
  CHECK(comparison.compared == 1);
  CHECK(comparison.different == 0);
  CHECK(comparison.frames == 5);
  CHECK(comparison.deepest == 5);
  CHECK(Comparing::differences().empty());
}

TEST_CASE("another frame is a difference, and is shown among its neighbours") {
  Trusted::say(numbers(40));
  auto frames = numbers(40);
  frames[20] = 1;
  Tested::say(frames);
  const StackComparison comparison = compare_once();
  CHECK(comparison.different == 1);
  CHECK(comparison.different_frames == 1);
  CHECK(comparison.different_depth == 0);
  REQUIRE(Comparing::differences().size() == 1);
  const StackDifference& difference = Comparing::differences().front();
  CHECK(difference.first_different == 20);
  CHECK(difference.first_kept == 20 - StackDifference::kCommonFrames);
  CHECK(difference.tested_frames[StackDifference::kCommonFrames] == 1);
  CHECK(difference.trusted_frames[StackDifference::kCommonFrames] == 0x1000 + 20);
}

TEST_CASE("a stack that is shorter, or ends in another way, differs") {
  Trusted::say(numbers(6));
  Tested::say(numbers(4));
  CHECK(compare_once().different_depth == 1);
  CHECK(Comparing::comparison().different_frames == 0);
  CHECK(Comparing::differences().front().first_different == 4);
  CHECK(Comparing::differences().front().tested_frames[4] == 0);
  Tested::say(numbers(6), true);
  CHECK(compare_once().different_truncated == 1);
  Tested::say(numbers(6), false, true);
  CHECK(compare_once().different_failed == 1);
  CHECK(Comparing::comparison().tested_failed == 1);
  CHECK(Comparing::comparison().trusted_failed == 0);
}

TEST_CASE("what goes on by frame records is compared up to where the trusted capture failed") {
  Trusted::say(numbers(4), false, true);
  Tested::say(numbers(6));
  Tested::result.by_records = true;
  CHECK(compare_once().different == 0);
  CHECK(Comparing::comparison().by_records == 1);
  Tested::frames[3] = 1;
  CHECK(compare_once().different_frames == 1);
  Tested::say(numbers(3));
  Tested::result.by_records = true;
  CHECK(compare_once().different_depth == 1);
}

TEST_CASE("frame records lead no further than a trusted capture that is whole") {
  Trusted::say(numbers(4));
  Tested::say(numbers(6));
  Tested::result.by_records = true;
  CHECK(compare_once().different_depth == 1);
  CHECK(Comparing::comparison().by_records == 0);
}

TEST_CASE("a hash that is not that of the frames is a difference") {
  Trusted::say(numbers(3));
  Tested::say(numbers(3));
  using WrongHash = ComparingStack<WrongHashStack, Trusted>;
  CHECK(compare_once<WrongHash>().wrong_hash == 1);
  CHECK(WrongHash::comparison().different == 1);
}

TEST_CASE("one capture in so many is compared, and all are handed on") {
  Trusted::say(numbers(2));
  Tested::say(numbers(1));
  Comparing::forget();
  Comparing::compare_every(10);
  std::array<std::uintptr_t, 64> frames{};
  for (int i = 0; i < 25; ++i) {
    CHECK(Comparing::capture(*ThreadStates::mine(), {}, frames).depth == 1);
  }
  Comparing::compare_every(1);
  CHECK(Comparing::comparison().captures == 25);
  CHECK(Comparing::comparison().compared == 3);
  CHECK(Comparing::comparison().different == 3);
}

TEST_CASE("more differences than are kept are counted all the same") {
  Trusted::say(numbers(2));
  Tested::say(numbers(1));
  Comparing::forget();
  std::array<std::uintptr_t, 64> frames{};
  for (int i = 0; i < 40; ++i) Comparing::capture(*ThreadStates::mine(), {}, frames);
  CHECK(Comparing::comparison().different == 40);
  CHECK(Comparing::differences().size() == Comparing::kMaxKept);
}

TEST_CASE("unwind tables and the compiler's unwinder see the same stack") {
  using Real = ComparingStack<UnwindTableStack, BacktraceStack>;
  static_assert(IdentifyingStackCapture<Real>);
  Real::forget();
  for (const std::size_t depth : {1U, 30U, 3U}) {
    for (const std::size_t room : {1U, 7U, 512U}) {
      static_cast<void>(capture_known_stack<Real>(depth, room));
    }
  }
  CHECK(Real::comparison().compared == 9);
  CHECK(Real::comparison().different == 0);
}
