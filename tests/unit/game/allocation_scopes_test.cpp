#include "alloctap/game/allocation_scopes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "alloctap/annotate.hpp"
#include "alloctap/observe/observers.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/scripted_tracker.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

struct ScopedTest;

struct ScopeConfig : ScriptedConfig<ScopedTest> {
  using Observers = alloctap::Observers<AllocationScopes>;
};
using ScopeTracker = Tracker<ScopeConfig>;
using ScopeHook = ScopeConfig::Hook;

constexpr std::array<std::uintptr_t, 2> kHere{0x100, 0x900};
constexpr std::array<std::uintptr_t, 2> kThere{0x200, 0x900};

void allocate(std::uintptr_t block, std::size_t bytes,
              std::span<const std::uintptr_t> stack = kHere) {
  ScriptedStack::play(stack);
  ScopeHook::on_allocate(at(block), bytes);
}

void free_block(std::uintptr_t block) { ScopeHook::on_free(at(block)); }

std::vector<OffenceSum> known_offences() {
  ArenaArray<OffenceSum> list;
  REQUIRE(scope_offences.copy_to(list));
  return {list.begin(), list.end()};
}

std::vector<std::string> heard;

void hear(const alloctap_offence* offence) {
  heard.push_back(std::string(offence->scope, offence->scope_length) +
                  (offence->is_free != 0 ? " freed " : " allocated ") +
                  std::to_string(offence->bytes) + ", " + std::to_string(offence->allocations));
}

}  // namespace

TEST_CASE("a scope counts what its thread allocates and frees, and nothing without a tracker") {
  {
    const AllocationScope before;
    CHECK_FALSE(before.counts());
    allocate(0x10, 8);
    CHECK(before.allocations() == 0);
  }
  const Session session = started<ScopeTracker>();
  allocate(0x20, 100);
  const AllocationScope outer;
  allocate(0x30, 8);
  {
    const AllocationScope inner;
    CHECK(inner.counts());
    allocate(0x40, 16, kThere);
    free_block(0x20);
    const DetachedBlock old = ScopeHook::begin_reallocate(at(0x40));
    ScopeHook::end_reallocate(old, at(0x50), 32);
    std::thread([] { allocate(0x60, 1000); }).join();
    CHECK(inner.sums().allocations == 2);
    CHECK(inner.sums().bytes == 48);
    CHECK(inner.sums().frees == 2);
    {
      const AllocationsAllowed exception;
      allocate(0x70, 5000);
    }
    std::vector<std::uint64_t> bytes;
    inner.for_each_stack([&](StackId, const AllocationSums& sums) { bytes.push_back(sums.bytes); });
    CHECK(bytes == std::vector<std::uint64_t>{48});
  }
  CHECK(outer.sums().allocations == 3);
  CHECK(outer.sums().bytes == 56);
  CHECK(AllocationScope().allocations() == 0);
}

TEST_CASE("allocations beyond those that are allowed are offences, by scope and stack") {
  scope_offences.clear();
  heard.clear();
  const Session session = started<ScopeTracker>();
  {
    const no_allocation_scope quiet{"quiet"};
    const no_allocation_scope two{"two", {.allowed = 2, .on_offence = &hear}};
    allocate(0x110, 1);
    CHECK(quiet.offends());
    allocate(0x120, 2);
    CHECK_FALSE(two.offends());
    allocate(0x130, 3, kThere);
    free_block(0x110);
  }
  for (int run = 0; run < 2; ++run) {
    const no_allocation_scope frees{"frees", {.forbids_frees = true, .on_offence = &hear}};
    free_block(0x120 + 0x10 * static_cast<std::uintptr_t>(run));
  }
  {
    const no_allocation_scope empty{"empty"};
  }
  CHECK(heard ==
        std::vector<std::string>{"two allocated 3, 3", "frees freed 2, 0", "frees freed 3, 0"});
  const std::vector<OffenceSum> found = known_offences();
  REQUIRE(found.size() == 6);
  std::array<std::uint64_t, 3> allocations{};
  for (const OffenceSum& sum : found) {
    allocations[0] += sum.scope() == "quiet" ? sum.sums.allocations : 0;
    allocations[1] += sum.scope() == "two" ? sum.sums.allocations : 0;
    allocations[2] += sum.scope() == "frees" ? sum.sums.frees : 0;
  }
  CHECK(allocations == std::array<std::uint64_t, 3>{3, 3, 2});
  CHECK(scope_offences.left_out() == 0);
}

TEST_CASE("a scope that aborts ends the program at the first offence, and not before") {
  const Session session = started<ScopeTracker>();
  CHECK(holds_in_child([]() -> bool {
    std::signal(SIGABRT, [](int) { end_as_held(); });
    std::fclose(stderr);
    const no_allocation_scope one{"one", {.allowed = 1, .aborts = true}};
    allocate(0x310, 1);
    if (one.offends()) return false;
    allocate(0x320, 1);
    return false;
  }));
  CHECK(holds_in_child([] {
    const no_allocation_scope frees{"frees", {.aborts = true}};
    free_block(0x310);
    return !frees.offends();
  }));
}

TEST_CASE("scopes that end in the wrong order, on the wrong thread or too deep hurt nobody") {
  const Session session = started<ScopeTracker>();
  auto first = std::make_optional<AllocationScope>();
  auto second = std::make_optional<AllocationScope>();
  allocate(0x210, 1);
  first.reset();
  allocate(0x220, 1);
  CHECK(second->allocations() == 2);
  second.reset();
  auto foreign = std::make_unique<AllocationScope>();
  std::thread([&] { foreign.reset(); }).join();
  allocate(0x230, 1);
  const AllocationScope after;
  allocate(0x240, 1);
  CHECK(after.allocations() == 1);
  std::vector<std::unique_ptr<AllocationScope>> deep;
  for (std::uint32_t i = 0; i < ScopeStack::kMaxScopes; ++i) {
    deep.push_back(std::make_unique<AllocationScope>());
  }
  CHECK_FALSE(deep.back()->counts());
  allocate(0x250, 1);
  CHECK(deep.back()->allocations() == 0);
  CHECK(deep.front()->allocations() == 1);
  CHECK(after.allocations() == 2);
  while (!deep.empty()) deep.pop_back();
}

TEST_CASE("scopes that end in the wrong order leave their places to later ones") {
  const Session session = started<ScopeTracker>();
  for (std::uint32_t i = 0; i < 2 * ScopeStack::kMaxScopes; ++i) {
    auto outer = std::make_optional<AllocationScope>();
    auto inner = std::make_optional<AllocationScope>();
    outer.reset();
    inner.reset();
  }
  const AllocationScope after;
  CHECK(after.counts());
}

TEST_CASE("many stacks are counted each, and no more than there is room for") {
  StackCounts counts;
  constexpr StackId kStacks = 3 * StackCounts::kMaxStacks;
  for (StackId stack = 1; stack <= kStacks; ++stack) {
    counts.add(stack, {.allocations = 1, .bytes = stack});
  }
  counts.add(7, {.frees = 5});
  std::uint64_t allocations = 0;
  std::uint64_t others = 0;
  counts.for_each([&](const StackCounts::Entry& entry) {
    allocations += entry.sums.allocations;
    if (entry.stack == kNoStackId) others = entry.sums.allocations;
    if (entry.stack == 7) CHECK(entry.sums.frees == 5);
  });
  CHECK(allocations == kStacks);
  CHECK(others > 0);
  CHECK(others <= 2 * StackCounts::kMaxStacks);
  counts.clear();
  counts.for_each([](const StackCounts::Entry&) { CHECK(false); });
}
