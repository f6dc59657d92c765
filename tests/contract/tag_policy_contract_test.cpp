// What every policy of tags promises: what it tells of a stack is what its description says, and
// live memory adds up by owner, whoever gives it back.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <thread>

#include "alloctap/tag/inherited_tags.hpp"
#include "alloctap/tag/scoped_tags.hpp"
#include "alloctap/tag/tag_policy.hpp"
#include "alloctap/tag/tags_and_threads.hpp"
#include "alloctap/tag/thread_owners.hpp"
#include "tests/support/offered_annotations.hpp"
#include "tests/support/scripted_tracker.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

constexpr std::array<std::uintptr_t, 12> kFrames{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

template <class Policy, class Test = void>
struct TaggedConfig : ScriptedConfig<TaggedConfig<Policy, Test>> {
  using Tags = Policy;
};

template <class Policy>
StackOwner owner_now() {
  return Policy::current(*ThreadStates::mine());
}

/// The live bytes of the stacks whose owner is `wanted`.
std::uint64_t live_bytes_of(const Snapshot& snapshot, StackOwner wanted) {
  std::uint64_t bytes = 0;
  for (const StackSummary& stack : snapshot.stacks) {
    if (snapshot.table->owner(stack.stack) == wanted) bytes += stack.live_bytes;
  }
  return bytes;
}

}  // namespace

#define ALLOCTAP_TAG_POLICIES NoTags, ScopedTags, InheritedTags, ThreadOwners, TagsAndThreads

TEST_CASE_TEMPLATE("owners tell what the description says", Policy, ALLOCTAP_TAG_POLICIES) {
  const TagsDescription description = Policy::description();
  StackOwner elsewhere;
  std::thread([&] { elsewhere = owner_now<Policy>(); }).join();
  // None, but for the case's where a tracker looks for leaks in it.
  const TagId before = description.tags != nullptr ? current_tag().id : kNoTag;
  const StackOwner outside = owner_now<Policy>();
  const tag_scope scope{"Scope"};
  const StackOwner inside = owner_now<Policy>();
  CHECK(outside.tag == before);
  CHECK((inside.tag != kNoTag) == (description.tags != nullptr));
  if (description.tags != nullptr) CHECK(description.tags->name(inside.tag) == "Scope");
  CHECK((inside.thread != kNoThread) == description.threads);
  CHECK((elsewhere.thread != inside.thread) == description.threads);
  CHECK(kHasNoOwners<Policy> == (description.tags == nullptr && !description.threads));
}

TEST_CASE_TEMPLATE("what lives is its owner's, whoever frees, and stacks keep their frames", Policy,
                   ALLOCTAP_TAG_POLICIES) {
  using T = Tracker<TaggedConfig<Policy>>;
  const Session session = started<T>();
  ScriptedStack::play(kFrames);
  const StackOwner mine = owner_now<Policy>();
  StackOwner theirs;
  T::Hook::on_allocate(at(0x1000), 100);
  T::Hook::on_allocate(at(0x2000), 10);
  std::thread([&] {
    ScriptedStack::play(kFrames);
    const tag_scope job{"Job"};
    theirs = owner_now<Policy>();
    T::Hook::on_allocate(at(0x3000), 1000);
    T::Hook::on_free(at(0x2000));
  }).join();
  const Snapshot snapshot = snapshot_of<T>();
  const bool one_owner = mine == theirs;
  CHECK(one_owner == std::same_as<Policy, NoTags>);
  const auto live = std::ranges::count_if(
      snapshot.stacks, [](const StackSummary& stack) { return stack.live_bytes > 0; });
  CHECK(live == (one_owner ? 1 : 2));
  CHECK(live_bytes_of(snapshot, mine) == (one_owner ? 1100 : 100));
  CHECK(live_bytes_of(snapshot, theirs) == (one_owner ? 1100 : 1000));
  for (const StackSummary& stack : snapshot.stacks) {
    const auto frames = snapshot.table->frames(stack.stack);
    CHECK(std::equal(frames.begin(), frames.end(), kFrames.begin(), kFrames.end()));
  }
  T::Hook::on_free(at(0x1000));
  T::Hook::on_free(at(0x3000));
}

TEST_CASE_TEMPLATE("a reallocation is put down to who makes it", Policy, ALLOCTAP_TAG_POLICIES) {
  using T = Tracker<TaggedConfig<Policy>>;
  const Session session = started<T>();
  ScriptedStack::play(kFrames);
  const StackOwner outside = owner_now<Policy>();
  T::Hook::on_allocate(at(0x1000), 100);
  const tag_scope growth{"Growth"};
  auto detached = T::Hook::begin_reallocate(at(0x1000));
  T::Hook::end_reallocate(detached, at(0x1000), 300);
  const Snapshot snapshot = snapshot_of<T>();
  const StackOwner inside = owner_now<Policy>();
  CHECK(live_bytes_of(snapshot, inside) == 300);
  CHECK(live_bytes_of(snapshot, outside) == (inside == outside ? 300 : 0));
  T::Hook::on_free(at(0x1000));
}

TEST_CASE_TEMPLATE("threads have what they hold where stacks tell them", Policy,
                   ALLOCTAP_TAG_POLICIES) {
  using T = Tracker<TaggedConfig<Policy, struct Holding>>;
  const Session session = started<T>();
  ScriptedStack::play(kFrames);
  T::Hook::on_allocate(at(0x1000), 100);
  std::thread([] {
    ScriptedStack::play(kFrames);
    T::Hook::on_allocate(at(0x2000), 1000);
    T::Hook::on_allocate(at(0x3000), 3000);
  }).join();
  T::Hook::on_free(at(0x3000));
  const Snapshot snapshot = snapshot_of<T>();
  CHECK(snapshot.tags == Policy::description().tags);
  std::uint64_t held = 0;
  bool as_held = true;
  for (const ThreadSummary& thread : snapshot.threads) {
    CHECK(thread.holding.has_value() == Policy::description().threads);
    if (!thread.holding) continue;
    held += thread.holding->live_bytes;
    const bool is_mine = thread.number == ThreadStates::mine()->number;
    as_held = as_held && thread.holding->live_bytes == (is_mine ? 100 : 1000);
    CHECK(thread.holding->live_allocations == 1);
    CHECK(thread.net_bytes == (is_mine ? -2900 : 4000));
  }
  CHECK(as_held);
  CHECK(held == (Policy::description().threads ? 1100 : 0));
}
