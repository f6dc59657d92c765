// Whatever the queue and the index, a recorder counts what it was told, on whichever thread.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "alloctap/hook/manual_hook.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/queue/buffer_queue.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/fakes.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::holds_in_child;
using alloctap::testing::ScriptedStack;

template <class QueuePolicy, class Index>
struct Choice : DefaultConfig {
  using Hook = ManualHook<Choice>;
  using Stack = ScriptedStack;
  using Queue = QueuePolicy;
  using Meta = MemoryMetaContainer<Index>;
  static constexpr Limits limits{.max_queue_bytes = 64 * 1024};
};
using DirectShadow = Choice<DirectQueue, ShadowIndex>;
using DirectHash = Choice<DirectQueue, FlatHashIndex>;
using BufferShadow = Choice<BufferQueue, ShadowIndex>;
using BufferHash = Choice<BufferQueue, FlatHashIndex>;

constexpr std::size_t kStacks = 40;

/// What a stack should have counted, by its only frame.
using Expected = std::map<std::uintptr_t, StackSummary>;

struct Block {
  std::uintptr_t stack = 0;
  std::uint64_t size = 0;
};

/// A thread of a program, with blocks of its own, that says what it does and counts it too.
template <class Tracker>
class Life {
 public:
  explicit Life(std::uint64_t seed) : random_(seed), base_(0x1000'0000 * (seed + 1)) {}

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      const std::uintptr_t address = base_ + random_() % 100 * 16;
      if (!live_.contains(address)) {
        allocate(address);
      } else if (random_() % 3 == 0) {
        reallocate(address, random_() % 2 == 0);
      } else {
        free(address);
      }
    }
  }

  /// Adds what this thread counted to `sum`.
  void add_to(Expected& sum) const {
    for (const auto& [frame, mine] : expected_) {
      StackSummary& stack = sum[frame];
      stack.total += mine.total;
      stack.live_allocations += mine.live_allocations;
      stack.live_bytes += mine.live_bytes;
    }
  }
  [[nodiscard]] std::uint64_t deallocations() const { return deallocations_; }

 private:
  using Hook = Tracker::Hook;

  static void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

  Block play_any() {
    frame_ = 1 + random_() % kStacks;
    ScriptedStack::play({&frame_, 1});
    return {.stack = frame_, .size = random_() % 1000};
  }

  void come(std::uintptr_t address, const Block& block) {
    StackSummary& stack = expected_[block.stack];
    ++stack.total.allocations;
    stack.total.allocated_bytes += block.size;
    ++stack.live_allocations;
    stack.live_bytes += block.size;
    live_[address] = block;
    last_ = address;
  }

  void go(std::uintptr_t address) {
    const Block block = live_[address];
    StackSummary& stack = expected_[block.stack];
    --stack.live_allocations;
    stack.live_bytes -= block.size;
    if (last_ == address) ++stack.total.temporary_allocations;
    if (last_ == address) last_ = 0;
    live_.erase(address);
    ++deallocations_;
  }

  void allocate(std::uintptr_t address) {
    const Block block = play_any();
    Hook::on_allocate(at(address), block.size);
    come(address, block);
  }

  void free(std::uintptr_t address) {
    Hook::on_free(at(address));
    go(address);
  }

  void reallocate(std::uintptr_t address, bool fails) {
    const Block block = play_any();
    auto detached = Hook::begin_reallocate(at(address));
    Hook::end_reallocate(detached, fails ? nullptr : at(address), block.size);
    if (fails) return;
    go(address);
    come(address, block);
  }

  std::mt19937_64 random_;
  std::uintptr_t base_;
  std::uintptr_t frame_ = 0;
  std::uintptr_t last_ = 0;
  std::uint64_t deallocations_ = 0;
  std::map<std::uintptr_t, Block> live_;
  Expected expected_;
};

template <class Tracker>
Snapshot snapshot_of() {
  auto snapshot = Tracker::snapshot();
  REQUIRE(snapshot.ok());
  return *std::move(snapshot);
}

bool same(const StackSummary& a, const StackSummary& b) {
  return a.total.allocations == b.total.allocations &&
         a.total.allocated_bytes == b.total.allocated_bytes &&
         a.total.temporary_allocations == b.total.temporary_allocations &&
         a.live_allocations == b.live_allocations && a.live_bytes == b.live_bytes;
}

bool holds(const Snapshot& snapshot, const Expected& expected, std::uint64_t deallocations) {
  bool right = snapshot.stacks.size() == expected.size() &&
               snapshot.totals.deallocations == deallocations && snapshot.account.dropped == 0 &&
               snapshot.account.unmatched_frees == 0 && snapshot.account.unseen_frees == 0;
  for (const StackSummary& stack : snapshot.stacks) {
    const auto frames = snapshot.table->frames(stack.stack);
    const auto place = expected.find(frames.empty() ? 0 : frames[0]);
    right = right && place != expected.end() && same(stack, place->second);
  }
  return right;
}

}  // namespace

TEST_CASE_TEMPLATE("threads, alive and ended, and the child of a fork, keep exact totals", Config,
                   DirectShadow, DirectHash, BufferShadow, BufferHash) {
  using T = Tracker<Config>;
  const auto session = T::start();
  REQUIRE(session.ok());
  Expected expected;
  std::uint64_t deallocations = 0;
  const auto run_threads = [&](std::uint64_t first_seed) {
    std::vector<Life<T>> lives;
    for (std::uint64_t i = 0; i < 6; ++i) lives.emplace_back(first_seed + i);
    std::vector<std::thread> threads;
    for (Life<T>& life : lives) threads.emplace_back([&life] { life.run(3000); });
    for (std::thread& thread : threads) thread.join();
    for (const Life<T>& life : lives) {
      life.add_to(expected);
      deallocations += life.deallocations();
    }
  };
  // Those of the second and third round take over what those of the first left.
  for (const std::uint64_t seed : {0U, 100U, 200U}) {
    run_threads(seed);
    CHECK(holds(snapshot_of<T>(), expected, deallocations));
  }
  CHECK(holds_in_child([&] {
    Life<T> life(1000);
    life.run(1000);
    life.add_to(expected);
    const auto snapshot = T::snapshot();
    return snapshot.ok() && holds(*snapshot, expected, deallocations + life.deallocations());
  }));
  CHECK(holds(snapshot_of<T>(), expected, deallocations));
}
