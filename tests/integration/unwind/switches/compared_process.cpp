#include "compared_process.hpp"

#include "alloctap/hook/interpose_hook.hpp"
#include "alloctap/hook/interposed_malloc.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/stack/backtrace_stack.hpp"
#include "alloctap/status.hpp"
#include "tests/support/comparing_stack.hpp"

namespace alloctap::testing {
namespace {

using Comparing = ComparingStack<UnwindTableStack, BacktraceStack>;

struct ComparedConfig : DefaultConfig {
  using Hook = InterposeHook;
  using Stack = Comparing;
  static constexpr Limits limits{.max_frames = ThreadState::kMaxFrames};
};
using ComparedTracker = Tracker<ComparedConfig>;

Session start(std::uint32_t max_frames) {
  Comparing::forget();
  ComparedTracker::set_max_frames(max_frames);
  Result<Session> session = ComparedTracker::start();
  REQUIRE(session.ok());
  return *std::move(session);
}

void show(const StackDifference& difference) {
  const CapturedStack& tested = difference.tested;
  const CapturedStack& trusted = difference.trusted;
  MESSAGE("depth " << tested.depth << ", not " << trusted.depth);
  MESSAGE("failed " << tested.failed << ", not " << trusted.failed);
  MESSAGE("truncated " << tested.truncated << ", not " << trusted.truncated);
  for (std::size_t i = 0; i < StackDifference::kMaxFrames; ++i) {
    const std::size_t number = difference.first_kept + i;
    MESSAGE("frame " << number << ": " << std::hex << difference.tested_frames[i] << ", not "
                     << difference.trusted_frames[i]);
  }
}

}  // namespace

ComparedRun::ComparedRun(std::uint32_t max_frames) : session_(start(max_frames)) {}

StackComparison ComparedRun::so_far() { return Comparing::comparison(); }

StackComparison ComparedRun::check_equal(std::uint64_t captures) {
  session_.end();
  const StackComparison comparison = Comparing::comparison();
  CHECK(comparison.compared >= captures);
  CHECK(comparison.different == 0);
  if (comparison.different > 0) show(Comparing::differences().front());
  return comparison;
}

StackComparison ComparedRun::check_whole(std::uint64_t captures) {
  const StackComparison comparison = check_equal(captures);
  CHECK(comparison.trusted_failed == 0);
  CHECK(comparison.tested_failed == 0);
  return comparison;
}

}  // namespace alloctap::testing

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(alloctap::testing::ComparedTracker);
