#include "alloctap/stack/chain_walk.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "alloctap/arch/frame_record.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "tests/unit/stack/kept_chain.hpp"
#include "tests/unit/stack/stack_model.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;
using Walk = ChainWalk<ModelRules>;
using Kept = KeptChain;

/// Windows has no frame records, and elsewhere one may not tell where its frame ends.
constexpr bool kRecordsLeadOn = arch::kHasFrameRecords && arch::kRecordEndsFrame;

/// The chain is the stack, as far as it is wanted.
void check_walk(Kept& kept, const StackModel& model, std::size_t most, ChainEnd whole) {
  REQUIRE(kept.walk(model, most) == UnwindOutcome::kCaller);
  auto truth = model.truth();
  const bool cut = truth.size() > most;
  REQUIRE((kept.chain.size() > most) == cut);
  if (cut) {
    truth.resize(most);
  } else {
    REQUIRE(kept.chain.end() == whole);
    REQUIRE(kept.chain.hash(kept.chain.size() - 1) == hash_frames(truth));
  }
  REQUIRE(kept.innermost(most) == truth);
}

void call_times(StackModel& model, std::size_t calls) {
  for (std::size_t i = 0; i < calls && model.has_room(); ++i) model.call();
}

}  // namespace

TEST_CASE("a chain follows whatever is called and left, with any limit on frames") {
  for (const auto outermost :
       {ModelFunctions::kOutermost, ModelFunctions::kWithoutTable, ModelFunctions::kFixed,
        ModelFunctions::kFixedSaving, ModelFunctions::kByPointer}) {
    const auto whole =
        outermost == ModelFunctions::kWithoutTable ? ChainEnd::kFailed : ChainEnd::kOutermost;
    for (std::size_t most = 1; most <= Kept::kMaxCount; most += most < 12 ? 1 : 13) {
      CAPTURE(most);
      Kept kept;
      StackModel model(most, outermost);
      for (int round = 0; round < 1500; ++round) {
        model.leave(model.below(std::min<std::size_t>(model.depth(), round % 9 == 0 ? 60 : 5)));
        call_times(model, model.below(round % 11 == 0 ? 60 : 5));
        check_walk(kept, model, most, whole);
      }
    }
  }
}

TEST_CASE("a chain follows frame records through code without tables, and says so") {
  if (!kRecordsLeadOn) return;
  for (const auto outermost : {ModelFunctions::kOutermost, ModelFunctions::kFixedSaving}) {
    Kept kept;
    kept.without_tables = true;
    StackModel model(5, outermost);
    for (int round = 0; round < 3000; ++round) {
      model.leave(model.below(std::min<std::size_t>(model.depth(), round % 9 == 0 ? 60 : 5)));
      call_times(model, model.below(5));
      check_walk(kept, model, Kept::kMaxCount, ChainEnd::kOutermost);
      const auto truth = model.truth();
      if (truth.size() > Kept::kMaxCount) continue;
      const bool passes_any = std::any_of(truth.begin(), truth.end() - 1, [](std::uintptr_t pc) {
        return ModelRules::is_by_pointer((pc - 1) / ModelFunctions::kBytes);
      });
      REQUIRE(kept.chain.is_by_records(kept.chain.size() - 1) == passes_any);
    }
  }
}

TEST_CASE("where no frame record leads on, the stack ends until one does") {
  if (!kRecordsLeadOn) return;
  Kept kept;
  kept.without_tables = true;
  StackModel model(8, ModelFunctions::kOutermost);
  const UnwindFrame caller = model.leaf();
  const std::uintptr_t number = ModelFunctions::number(ModelFunctions::kByPointer, 0);
  const UnwindFrame leaf{
      .pc = number * ModelFunctions::kBytes + 1, .sp = caller.sp - 64, .fp = caller.sp - 16};
  model.word_at(leaf.fp) = caller.fp;
  for (int i = 0; i < 3; ++i) {
    model.word_at(leaf.fp + 8) = 0x5A5A;
    REQUIRE(kept.walk(model, leaf, Kept::kMaxCount) == UnwindOutcome::kCaller);
    CHECK(kept.innermost(Kept::kMaxCount) == std::vector{leaf.pc});
    CHECK(kept.chain.end() == ChainEnd::kFailed);
    model.word_at(leaf.fp + 8) = caller.pc;
    REQUIRE(kept.walk(model, leaf, Kept::kMaxCount) == UnwindOutcome::kCaller);
    CHECK(kept.innermost(Kept::kMaxCount) == std::vector{leaf.pc, caller.pc});
    CHECK(kept.chain.end() == ChainEnd::kOutermost);
    UnwindFrame other = leaf;
    for (const std::uintptr_t fp : {leaf.sp - 16, leaf.fp + 4, model.bounds().high - 8}) {
      other.fp = fp;
      REQUIRE(kept.walk(model, other, Kept::kMaxCount) == UnwindOutcome::kCaller);
      CHECK(kept.chain.end() == ChainEnd::kFailed);
    }
  }
}

TEST_CASE("a chain serves captures of different limits in turn") {
  Kept kept;
  StackModel model(99, ModelFunctions::kOutermost);
  for (int round = 0; round < 5000; ++round) {
    model.leave(model.below(std::min<std::size_t>(model.depth(), 7)));
    call_times(model, model.below(8));
    const std::size_t most = 1 + model.below(Kept::kMaxCount);
    check_walk(kept, model, most, ChainEnd::kOutermost);
  }
}

TEST_CASE("a return address that changed alone is seen at any depth") {
  Kept kept;
  StackModel model(1, ModelFunctions::kOutermost);
  call_times(model, 30);
  const auto truth = model.truth();
  for (std::size_t number = 1; number + 1 < truth.size(); ++number) {
    CAPTURE(number);
    // Another place in the same function.
    const bool is_last = truth[number] % ModelFunctions::kBytes == 3;
    const std::uintptr_t changed = is_last ? truth[number] - 1 : truth[number] + 1;
    std::size_t seen = 0;
    // Found by its value, which may stand elsewhere too.
    for (std::uintptr_t place = model.leaf().sp; place < model.bounds().high; place += 8) {
      if (model.word_at(place) != truth[number]) continue;
      check_walk(kept, model, Kept::kMaxCount, ChainEnd::kOutermost);
      model.word_at(place) = changed;
      REQUIRE(kept.walk(model, Kept::kMaxCount) == UnwindOutcome::kCaller);
      if (kept.innermost(Kept::kMaxCount)[number] == changed) ++seen;
      model.word_at(place) = truth[number];
    }
    CHECK(seen == 1);
  }
}

TEST_CASE("a frame that leads inwards, or out of the stack, breaks the walk and not the chain") {
  for (const std::uintptr_t wrong : {std::uintptr_t{0}, std::uintptr_t{1}, std::uintptr_t{0x10000},
                                     UINTPTR_MAX - 7, std::uintptr_t{1} << 63U}) {
    Kept kept;
    StackModel model(7, ModelFunctions::kOutermost);
    call_times(model, 20);
    check_walk(kept, model, Kept::kMaxCount, ChainEnd::kOutermost);
    const auto before = kept.innermost(Kept::kMaxCount);
    // A function found by its frame pointer, which is now wrong.
    const std::uintptr_t number = ModelFunctions::number(ModelFunctions::kByPointer, 0);
    const UnwindFrame leaf{
        .pc = number * ModelFunctions::kBytes + 1, .sp = model.leaf().sp - 128, .fp = wrong};
    const os::StackBounds bounds = model.bounds();
    std::size_t asked = 0;
    const ModelRules rules{.asked = &asked};
    Walk walk(kept.chain, kept.walked, bounds, Kept::kMaxCount, rules);
    CHECK(walk.walk_from(leaf) == UnwindOutcome::kBroken);
    CHECK(kept.innermost(Kept::kMaxCount) == before);
    check_walk(kept, model, Kept::kMaxCount, ChainEnd::kOutermost);
  }
}

TEST_CASE("a return address of 0 ends a stack, until it is another one") {
  Kept kept;
  StackModel model(3, ModelFunctions::kOutermost);
  const std::uintptr_t place = model.leaf().sp - 8;
  call_times(model, 6);
  const auto truth = model.truth();
  for (int i = 0; i < 3; ++i) {
    check_walk(kept, model, Kept::kMaxCount, ChainEnd::kOutermost);
    model.word_at(place) = 0;
    REQUIRE(kept.walk(model, Kept::kMaxCount) == UnwindOutcome::kCaller);
    CHECK(kept.chain.size() == truth.size() - 1);
    CHECK(kept.chain.end() == ChainEnd::kOutermost);
    model.word_at(place) = truth.back();
  }
}
