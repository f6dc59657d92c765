#include "alloctap/game/growth_advisor.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "alloctap/observe/observers.hpp"
#include "tests/support/scripted_tracker.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::at;
using alloctap::testing::ScriptedConfig;
using alloctap::testing::ScriptedStack;

/// A tracker with an advisor of its own, and short words for what its program does.
template <class Test>
struct AdvisedProgram {
  using Advisor = GrowthAdvisor<Test>;
  struct Config : ScriptedConfig<Test> {
    using Observers = alloctap::Observers<Advisor>;
  };
  using Tracker = alloctap::Tracker<Config>;
  using Hook = typename Config::Hook;

  static void play(std::size_t stack) {
    static constexpr std::array<std::array<std::uintptr_t, 1>, 2> kStacks{{{0x100}, {0x200}}};
    ScriptedStack::play(kStacks[stack]);
  }
  static void allocate(std::uintptr_t block, std::size_t bytes) {
    Hook::on_allocate(at(block), bytes);
  }
  static void free(std::uintptr_t block) { Hook::on_free(at(block)); }
  static void reallocate(std::uintptr_t old, std::uintptr_t block, std::size_t bytes) {
    const DetachedBlock detached = Hook::begin_reallocate(at(old));
    Hook::end_reallocate(detached, at(block), bytes);
  }
  /// The sums of the only stack that has any; none where there is no stack.
  static GrowthSums only_advice() {
    const auto list = Advisor::advice();
    REQUIRE(list.ok());
    REQUIRE(list->size() <= 1);
    return list->empty() ? GrowthSums{} : (*list)[0].sums;
  }
  const Session session = testing::started<Tracker>();
};

bool is_same(const GrowthSums& sums, std::array<std::uint64_t, 4> expected) {
  return std::array{sums.chains, sums.steps, sums.bytes_copied, sums.largest_bytes} == expected;
}

/// Keeps what it was told last.
struct LastReallocation {
  static constexpr ObserverFeatures features{.on_reallocate = true};
  static void on_track(const ObservedBlock& block) noexcept { came_last = block.pointer; }
  static void on_untrack(const ObservedBlock&) noexcept {}
  static void on_reallocate(const ObservedBlock& from, const ObservedBlock& to) noexcept {
    ++told;
    before = from;
    after = to;
  }
  static inline int told = 0;
  static inline void* came_last = nullptr;
  static inline ObservedBlock before;
  static inline ObservedBlock after;
};

struct ToldConfig : ScriptedConfig<LastReallocation> {
  using Observers = alloctap::Observers<LastReallocation, NoObservers>;
};

}  // namespace

TEST_CASE("what a vector copies as it grows is summed up") {
  using Program = AdvisedProgram<struct CopiedVector>;
  const Program program;
  Program::play(0);
  for (std::uintptr_t vector = 1; vector <= 2; ++vector) {
    Program::allocate(vector * 0x10000, 16);
    for (std::uintptr_t step = 1; step <= 4; ++step) {
      Program::allocate(vector * 0x10000 + step * 0x1000, 16U << step);
      Program::free(vector * 0x10000 + (step - 1) * 0x1000);
    }
  }
  CHECK(is_same(Program::only_advice(), {2, 8, 480, 256}));
  Program::free(0x14000);
  Program::free(0x24000);
  CHECK(is_same(Program::only_advice(), {2, 8, 480, 256}));
  CHECK(Program::Advisor::lost() == 0);
}

TEST_CASE("what a reallocation copies is summed up, and one in place copies nothing") {
  using Program = AdvisedProgram<struct Reallocated>;
  const Program program;
  Program::play(0);
  Program::allocate(0x1000, 10);
  Program::reallocate(0x1000, 0x2000, 100);
  Program::reallocate(0x2000, 0x2000, 200);
  Program::reallocate(0x2000, 0x3000, 300);
  CHECK(is_same(Program::only_advice(), {1, 3, 210, 300}));
  // Smaller: the end of it.
  Program::reallocate(0x3000, 0x3000, 50);
  Program::reallocate(0x3000, 0x4000, 1000);
  CHECK(is_same(Program::only_advice(), {1, 3, 210, 300}));
}

TEST_CASE("buffers that one stack reallocates by turns are told apart") {
  using Program = AdvisedProgram<struct ReallocatedByTurns>;
  const Program program;
  Program::play(0);
  Program::allocate(0x1000, 10);
  Program::allocate(0x2000, 20);
  Program::reallocate(0x1000, 0x3000, 30);
  Program::reallocate(0x2000, 0x4000, 40);
  Program::reallocate(0x3000, 0x5000, 50);
  Program::reallocate(0x4000, 0x6000, 60);
  CHECK(is_same(Program::only_advice(), {2, 4, 100, 60}));
}

TEST_CASE("what is given back before more is asked for has not grown") {
  using Program = AdvisedProgram<struct FreedFirst>;
  const Program program;
  Program::play(0);
  for (std::uintptr_t i = 0; i < 10; ++i) {
    Program::allocate(0x1000 * (i + 1), 16 * (i + 1));
    Program::free(0x1000 * (i + 1));
  }
  CHECK(Program::only_advice().chains == 0);
}

TEST_CASE("a queue, a stack and a change to smaller blocks do not grow") {
  using Program = AdvisedProgram<struct Queued>;
  const Program program;
  Program::play(0);
  const auto block = [](std::uintptr_t i) { return 0x1000 * (i + 1); };
  SUBCASE("what goes is not what came last") {
    for (std::uintptr_t i = 0; i < 20; ++i) {
      Program::allocate(block(i), 16 * (i + 1));
      if (i >= 2) Program::free(block(i - 2));
    }
  }
  SUBCASE("the last goes first") {
    for (std::uintptr_t i = 0; i < 20; ++i) Program::allocate(block(i), 16 * (i + 1));
    for (std::uintptr_t i = 20; i-- > 0;) Program::free(block(i));
  }
  SUBCASE("smaller ones") {
    for (std::uintptr_t i = 0; i < 20; ++i) {
      Program::allocate(block(i), 1000 - i);
      if (i > 0) Program::free(block(i - 1));
    }
  }
  SUBCASE("once is no habit") {
    Program::allocate(block(0), 10);
    Program::allocate(block(1), 20);
    Program::free(block(0));
  }
  CHECK(Program::only_advice().chains == 0);
}

TEST_CASE("growth is one stack's on one thread, and soon") {
  using Program = AdvisedProgram<struct Scattered>;
  const Program program;
  Program::play(0);
  const auto grow = [](auto between) {
    for (std::uintptr_t i = 1; i <= 4; ++i) {
      Program::play(0);
      Program::allocate(0x1000 * i, 16 * i);
      between(i);
      if (i > 1) Program::free(0x1000 * (i - 1));
    }
    Program::free(0x4000);
  };
  SUBCASE("another stack") {
    grow([](std::uintptr_t i) {
      Program::free(0x1000 * i);
      Program::play(i % 2);
      Program::allocate(0x1000 * i, 16 * i);
    });
    CHECK(Program::only_advice().chains == 0);
  }
  SUBCASE("another thread") {
    grow([](std::uintptr_t i) {
      std::thread([i] {
        if (i > 1) Program::free(0x1000 * (i - 1));
      }).join();
    });
    CHECK(Program::only_advice().chains == 0);
  }
  SUBCASE("late") {
    grow([](std::uintptr_t) {
      Program::play(1);
      for (std::uintptr_t call = 0; call < 80; ++call) {
        Program::allocate(0x100000, 1);
        Program::free(0x100000);
      }
    });
    CHECK(Program::only_advice().chains == 0);
  }
  SUBCASE("with some calls for each element") {
    grow([](std::uintptr_t) {
      Program::play(1);
      Program::allocate(0x100000, 1);
      Program::free(0x100000);
    });
    CHECK(is_same(Program::only_advice(), {1, 3, 96, 64}));
  }
}

TEST_CASE("observers are told of a reallocation that succeeds, behind its two halves") {
  using Hook = ToldConfig::Hook;
  const Session session = testing::started<Tracker<ToldConfig>>();
  Hook::on_allocate(at(0x1000), 10);
  Hook::end_reallocate(Hook::begin_reallocate(at(0x1000)), nullptr, 20);
  Hook::end_reallocate(Hook::begin_reallocate(at(0x8000)), at(0x3000), 20);
  Hook::on_free(at(0x3000));
  Hook::on_allocate(at(0x4000), 20);
  CHECK(LastReallocation::told == 0);
  Hook::end_reallocate(Hook::begin_reallocate(at(0x1000)), at(0x2000), 20);
  CHECK(LastReallocation::told == 1);
  CHECK(LastReallocation::before.pointer == at(0x1000));
  CHECK(LastReallocation::before.size == 10);
  CHECK(LastReallocation::after.pointer == at(0x2000));
  CHECK(LastReallocation::after.size == 20);
  CHECK(LastReallocation::came_last == at(0x2000));
}

TEST_CASE("advice is of all threads, most bytes copied first") {
  using Program = AdvisedProgram<struct ManyThreads>;
  const Program program;
  const auto grow = [](std::uintptr_t start, std::size_t stack, std::size_t bytes) {
    Program::play(stack);
    Program::allocate(start, bytes);
    Program::reallocate(start, start + 0x1000, bytes * 2);
    Program::reallocate(start + 0x1000, start + 0x2000, bytes * 4);
  };
  std::vector<std::thread> threads;
  for (std::uintptr_t i = 1; i <= 4; ++i) {
    threads.emplace_back([&grow, i] { grow(i * 0x100000, i % 2, 100 * i); });
  }
  REQUIRE(Program::Advisor::advice().ok());
  for (std::thread& thread : threads) thread.join();
  const auto list = Program::Advisor::advice();
  REQUIRE(list.ok());
  REQUIRE(list->size() == 2);
  CHECK(is_same((*list)[0].sums, {2, 4, 1800, 1600}));
  CHECK(is_same((*list)[1].sums, {2, 4, 1200, 1200}));
  CHECK(describe({.stack = 12, .sums = {1, 3, 210, 300}}) ==
        "stack 12: reserve(300 bytes) would save 3 growths and 210 bytes copied in 1 block");
}

TEST_CASE("a thread that grows more than there is room for says what it lost") {
  const auto chains = std::make_unique<GrowthChains>();
  for (StackId stack = 1; stack <= 2000; ++stack) {
    std::array<char, 4> blocks{};
    chains->come({&blocks[0], 1, stack});
    for (std::size_t i = 1; i < blocks.size(); ++i) {
      chains->come({&blocks[i], i + 1, stack});
      chains->go({&blocks[i - 1], i, stack});
    }
    chains->go({&blocks.back(), blocks.size(), stack});
  }
  chains->begin_thread();
  std::uint64_t kept = 0;
  chains->for_each([&](StackId, const GrowthSums& sums) { kept += sums.chains; });
  CHECK(kept >= 400);
  CHECK(chains->lost() + kept == 2000);
}
