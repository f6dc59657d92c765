#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "alloctap/record/recorder.hpp"
#include "alloctap/stack/stack_capture.hpp"
#include "tests/support/scripted_tracker.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

/// A stack of one frame whose capture always fails, and is remembered from the first time on.
struct RememberedFailure {
  static constexpr std::string_view name = "remembered-failure";

  static CapturedStack capture(ThreadState&, const CallOrigin&,
                               std::span<std::uintptr_t> frames) noexcept {
    frames[0] = kFrame;
    return {.depth = 1, .failed = true};
  }
  static IdentifiedStack identify(ThreadState&, const CallOrigin&, std::uint32_t) noexcept {
    is_known = true;
    return {.hash = known.hash, .stack = known.stack, .place = &known.place};
  }
  static std::span<const std::uintptr_t> identified_frames(ThreadState&,
                                                           const IdentifiedStack&) noexcept {
    return {&kFrame, 1};
  }
  static RememberedStack* recall(ThreadState&, const CallOrigin&, std::uint32_t) noexcept {
    return is_known ? &known : nullptr;
  }
  static IdentifiedStack identify_uncached(ThreadState& thread, const CallOrigin& origin,
                                           std::uint32_t most, RememberedStack*) noexcept {
    ++made_anew;
    return identify(thread, origin, most);
  }

  static constexpr std::uintptr_t kFrame = 0x1011;
  static inline bool is_known = false;
  static inline int made_anew = 0;
  static inline RememberedStack known{.hash = hash_frames({&kFrame, 1}),
                                      .stack = {.depth = 1, .failed = true}};
};
static_assert(RecallingStackCapture<RememberedFailure>);

struct Recalled {};
struct RecallingConfig : ScriptedConfig<Recalled> {
  using Stack = RememberedFailure;
};

/// Two frames, of which the outer one is the tracker's own.
struct InternalOuterFrame {
  static constexpr std::string_view name = "internal-outer-frame";
  static constexpr std::uintptr_t kProgram = 0x1011;
  static constexpr std::uintptr_t kInternal = 0x2011;

  static CapturedStack capture(ThreadState&, const CallOrigin&,
                               std::span<std::uintptr_t> frames) noexcept {
    frames[0] = kProgram;
    frames[1] = kInternal;
    frames[2] = kProgram;
    return {.depth = 3};
  }
};

struct Internal {};
struct InternalConfig : ScriptedConfig<Internal> {
  using Stack = InternalOuterFrame;
};

}  // namespace

TEST_CASE("frames of the tracker's own code are left out of stacks") {
  internal_code.add({InternalOuterFrame::kInternal - 1, InternalOuterFrame::kInternal});
  const Session session = started<Tracker<InternalConfig>>();
  InternalConfig::Hook::on_allocate(at(0x10'0000), 100);
  InternalConfig::Hook::on_allocate(at(0x20'0000), 100);
  const Snapshot snapshot = snapshot_of<Tracker<InternalConfig>>();
  REQUIRE(snapshot.stacks.size() == 1);
  CHECK(snapshot.stacks[0].live_allocations == 2);
  const StackFrames frames = snapshot.table->frames(snapshot.stacks[0].stack);
  REQUIRE(frames.size() == 2);
  CHECK(frames[0] == InternalOuterFrame::kProgram);
  CHECK(frames[1] == InternalOuterFrame::kProgram);
}

TEST_CASE("a recalled stack is counted as one that was taken, and as failed, each time") {
  const Session session = started<Tracker<RecallingConfig>>();
  for (std::uintptr_t i = 0; i < 10; ++i) {
    RecallingConfig::Hook::on_allocate(at(0x10'0000 + 32 * i), 100);
  }
  // Once because it was not known, and once because its counters were not known to be its.
  CHECK(RememberedFailure::made_anew <= 2);
  const Snapshot snapshot = snapshot_of<Tracker<RecallingConfig>>();
  CHECK(snapshot.totals.allocations == 10);
  CHECK(snapshot.account.failed_unwinds == 10);
  CHECK(snapshot.stacks.size() == 1);
  // Whatever stands in its place, the counters are those of the stack.
  RememberedFailure::known.place = 12'345;
  RecallingConfig::Hook::on_allocate(at(0x20'0000), 7);
  const Snapshot after = snapshot_of<Tracker<RecallingConfig>>();
  CHECK(after.stacks.size() == 1);
  CHECK(after.totals.allocations == 11);
}
