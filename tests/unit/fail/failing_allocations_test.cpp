#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "alloctap/fail/injected_failures.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace {

using namespace alloctap;

/// Tags are numbers; each lies in the one that is half as large.
TagId present_tag = kNoTag;
/// Of stack 7 the frames are 0x100 and 0x200.
StackId present_stack = 7;

constexpr AllocationSurroundings kFakeSurroundings{
    .tag = []() noexcept { return present_tag; },
    .tag_around = [](TagId inner) noexcept { return static_cast<TagId>(inner / 2); },
    .stack = [](const CallOrigin&) noexcept { return present_stack; },
    .passes =
        [](StackId stack, const AddressRange& code) noexcept {
          return stack == 7 && code.start <= 0x200 && 0x200 < code.end;
        }};

/// What a hook does around a call of malloc; whether it fails.
bool fails(std::size_t size = 8, bool is_own = false) {
  if (!InjectedFailures::may_refuse()) return false;
  const bool refused =
      InjectedFailures::refuses({.size = size, .is_own = is_own, .origin = {}}, kFakeSurroundings);
  InjectedFailures::end_asked();
  return refused;
}

/// One character for each of `count` calls: x where it fails.
std::string failures_of(const FailureRule& rule, int count) {
  const FailingAllocations failing(rule);
  std::string pattern;
  for (int i = 0; i < count; ++i) pattern += fails() ? 'x' : '.';
  return pattern;
}

ALLOCTAP_NOINLINE int some_function(int number) {
  std::vector<int> numbers(static_cast<std::size_t>(number), number);
  return numbers.back();
}

}  // namespace

TEST_CASE("failures: by number, in rows, and no more than so many") {
  CHECK(failures_of({}, 4) == "xxxx");
  CHECK(failures_of({.nth = 3}, 6) == "..x...");
  CHECK(failures_of({.every = 2}, 6) == ".x.x.x");
  CHECK(failures_of({.nth = 3, .every = 2}, 8) == "..x.x.x.");
  CHECK(failures_of({.every = 1, .most_failures = 2}, 4) == "xx..");
  CHECK(failures_of({.most_failures = 0}, 2) == "..");
}

TEST_CASE("failures: a seed gives the same ones again, another seed gives others") {
  const std::string pattern = failures_of({.one_in = 4, .seed = 1}, 400);
  CHECK(failures_of({.one_in = 4, .seed = 1}, 400) == pattern);
  CHECK(failures_of({.one_in = 4, .seed = 2}, 400) != pattern);
  const auto failed = std::count(pattern.begin(), pattern.end(), 'x');
  CHECK(failed > 60);
  CHECK(failed < 140);
  CHECK(failures_of({.one_in = 1}, 3) == "xxx");
  const std::string odd = failures_of({.nth = 1, .every = 2, .one_in = 2, .seed = 3}, 100);
  CHECK(odd.find('x') != odd.npos);
  for (std::size_t i = 1; i < odd.size(); i += 2) CHECK(odd[i] == '.');
}

TEST_CASE("failures: by size; what contradicts itself fits nothing") {
  {
    const FailingAllocations failing({.min_size = 10, .max_size = 20});
    CHECK_FALSE(fails(9));
    CHECK(fails(10));
    CHECK(fails(20));
    CHECK_FALSE(fails(21));
    CHECK(failing.allocations() == 2);
    CHECK(failing.failures() == 2);
  }
  const FailingAllocations none({.min_size = 20, .max_size = 10});
  CHECK_FALSE(fails(15));
  CHECK(none.allocations() == 0);
}

TEST_CASE("failures: by tag, with those inside of it or without") {
  const auto fails_in = [](TagId tag, bool only, TagId present) {
    const FailingAllocations failing({.tag = tag, .only_that_tag = only});
    present_tag = present;
    const bool failed = fails();
    present_tag = kNoTag;
    return failed;
  };
  CHECK(fails_in(2, false, 2));
  CHECK(fails_in(2, false, 5));
  CHECK_FALSE(fails_in(2, false, 3));
  CHECK_FALSE(fails_in(2, false, 1));
  CHECK_FALSE(fails_in(2, false, kNoTag));
  CHECK(fails_in(2, true, 2));
  CHECK_FALSE(fails_in(2, true, 4));
  CHECK(fails_in(kNoTag, true, 4));
}

TEST_CASE("failures: by stack, and by the code that calls were made in") {
  const auto fails_with = [](StackId stack, std::optional<AddressRange> code) {
    const FailingAllocations failing({.stack = stack, .called_in = code});
    return fails();
  };
  CHECK(fails_with(7, std::nullopt));
  CHECK_FALSE(fails_with(8, std::nullopt));
  CHECK(fails_with(kNoStackId, AddressRange{0x180, 0x280}));
  CHECK_FALSE(fails_with(kNoStackId, AddressRange{0x210, 0x280}));
  CHECK_FALSE(fails_with(kNoStackId, AddressRange{}));
  CHECK(fails_with(7, AddressRange{0x180, 0x280}));
  const FailingAllocations own({.stack = 7, .own_allocations = true});
  CHECK_FALSE(fails(8, true));
}

TEST_CASE("failures: of this thread, or of all") {
  const auto fails_elsewhere = [] {
    bool failed = false;
    std::thread([&] { failed = fails(); }).join();
    return failed;
  };
  {
    const FailingAllocations mine({});
    CHECK(fails());
    CHECK_FALSE(fails_elsewhere());
  }
  {
    const FailingAllocations everyones({.every = 2, .all_threads = true});
    CHECK_FALSE(fails());
    CHECK(fails_elsewhere());
    CHECK(everyones.allocations() == 2);
    CHECK(everyones.failures() == 1);
  }
  CHECK_FALSE(InjectedFailures::may_refuse());
}

TEST_CASE("failures: threads that race count each allocation of theirs once") {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kCalls = 5'000;
  std::atomic<std::uint64_t> failed{0};
  const FailingAllocations failing({.every = 3, .all_threads = true});
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t call = 0; call < kCalls; ++call) failed += fails() ? 1U : 0U;
    });
  }
  for (int i = 0; i < 100; ++i) const FailingAllocations other({.nth = 1, .all_threads = true});
  for (std::thread& thread : threads) thread.join();
  CHECK(failing.allocations() == kThreads * kCalls);
  CHECK(failing.failures() == kThreads * kCalls / 3);
  CHECK(failed >= failing.failures());
}

TEST_CASE("failures: those of the tracker itself only where they are asked for") {
  {
    const FailingAllocations failing({});
    CHECK_FALSE(fails(8, true));
    CHECK(failing.allocations() == 0);
  }
  const FailingAllocations failing({.own_allocations = true});
  CHECK(fails(8, true));
  CHECK(fails(8, false));
  const UseInternalArena from_the_arena;
  CHECK_FALSE(fails(8, true));
}

TEST_CASE("failures: what a call allocates on its way is not asked for") {
  const FailingAllocations failing({.nth = 2, .own_allocations = true});
  const AskedAllocation asked{.size = 8, .origin = {}};
  CHECK_FALSE(InjectedFailures::refuses(asked, kFakeSurroundings));
  CHECK_FALSE(InjectedFailures::refuses(asked, kFakeSurroundings));
  InjectedFailures::end_asked();
  InjectedFailures::end_asked();
  CHECK(failing.allocations() == 1);
  CHECK(fails());
}

TEST_CASE("failures: scopes nest, each counts, and they may end in any order") {
  auto outer = std::make_unique<FailingAllocations>(FailureRule{.nth = 2});
  auto middle = std::make_unique<FailingAllocations>(FailureRule{.nth = 1});
  const FailingAllocations inner({.nth = 3});
  CHECK(fails());
  CHECK(fails());
  middle.reset();
  CHECK(fails());
  CHECK(inner.allocations() == 3);
  CHECK(outer->failures() == 1);
  outer.reset();
  CHECK_FALSE(fails());
  CHECK(inner.allocations() == 4);
}

TEST_CASE(
    "failures: more rules of all threads than there are places for say that they do nothing") {
  std::vector<std::unique_ptr<FailingAllocations>> rules;
  const FailureRule rule{.max_size = 0, .all_threads = true};
  for (std::size_t i = 0; i < ActiveFaultRules::kMaxOfAllThreads; ++i) {
    rules.push_back(std::make_unique<FailingAllocations>(rule));
    CHECK(rules.back()->active());
  }
  {
    const FailingAllocations one_more({.all_threads = true});
    CHECK_FALSE(one_more.active());
    CHECK_FALSE(fails());
    CHECK(one_more.allocations() == 0);
    CHECK(one_more.failures() == 0);
  }
  rules.pop_back();
  CHECK(FailingAllocations(rule).active());
}

TEST_CASE("failures: the code of a function is a range that holds it") {
  CHECK(some_function(3) == 3);
  const AddressRange range = function_range(&some_function);
  CHECK(range.start == reinterpret_cast<std::uintptr_t>(&some_function));
  CHECK(range.end > range.start);
  static const char data = 0;
  using Function = void();
  CHECK(
      function_range(reinterpret_cast<Function*>(reinterpret_cast<std::uintptr_t>(&data))).empty());
}
