// The promise of the bounded queue, under the load that breaks unbounded and dropping ones.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "alloctap/hook/manual_hook.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/queue/buffer_queue.hpp"
#include "tests/support/fakes.hpp"

namespace {

constexpr std::size_t kThreads = 8;
constexpr std::size_t kSlots = 4096;
constexpr std::size_t kLimit = 1024 * 1024;

struct LoadConfig : alloctap::DefaultConfig {
  using Hook = alloctap::ManualHook<struct QueueLoad>;
  using Stack = alloctap::testing::ScriptedStack;
  using Queue = alloctap::BufferQueue;
  using Meta = alloctap::MemoryMetaContainer<alloctap::FlatHashIndex>;
  static constexpr alloctap::Limits limits{.max_queue_bytes = kLimit};
};
using LoadTracker = alloctap::Tracker<LoadConfig>;

/// What one thread did, as it counts itself.
struct Expected {
  std::uint64_t allocations = 0;
  std::uint64_t bytes = 0;
};

/// A place for a block that any thread may fill, and any other empty.
struct Slot {
  std::mutex lock;
  std::size_t owner = kThreads;
  std::uint64_t size = 0;
};

std::array<Slot, kSlots> slots;
std::array<Expected, kThreads> done;
std::array<Expected, kThreads> live;

void* address_of(std::size_t slot) { return reinterpret_cast<void*>(0x40'0000 + slot * 16); }

/// Frees whatever is in the slot, whoever put it there, or fills it.
void use(std::size_t slot_number, std::size_t thread, std::uint64_t size) {
  Slot& slot = slots[slot_number];
  const std::lock_guard hold(slot.lock);
  if (slot.owner == kThreads) {
    LoadTracker::Hook::on_allocate(address_of(slot_number), size);
    slot.owner = thread;
    slot.size = size;
    ++done[thread].allocations;
    done[thread].bytes += size;
  } else {
    LoadTracker::Hook::on_free(address_of(slot_number));
    slot.owner = kThreads;
  }
}

void run(std::size_t thread, const std::atomic<bool>& stop) {
  const std::array<std::uintptr_t, 2> frames{0x1000 + thread, 0x9000};
  alloctap::testing::ScriptedStack::play(frames);
  std::uint64_t random = thread + 1;
  while (!stop.load(std::memory_order_relaxed)) {
    random = random * 6364136223846793005 + 1442695040888963407;
    use((random >> 33) % kSlots, thread, 1 + (random >> 50));
  }
}

/// Seconds: 10 where there is time for it.
std::chrono::seconds duration() {
  return std::chrono::seconds(std::getenv("ALLOCTAP_LONG_TESTS") != nullptr ? 10 : 2);
}

void count_live() {
  for (const Slot& slot : slots) {
    if (slot.owner == kThreads) continue;
    ++live[slot.owner].allocations;
    live[slot.owner].bytes += slot.size;
  }
}

}  // namespace

TEST_CASE("eight threads that free each other's blocks lose and mix up nothing in a small queue") {
  auto session = LoadTracker::start();
  REQUIRE(session.ok());
  CHECK(::alloctap::SinkOf<LoadTracker>::queue().capacity_bytes() <= kLimit);
  CHECK(::alloctap::SinkOf<LoadTracker>::queue().capacity_bytes() > kLimit / 2);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) threads.emplace_back(run, t, std::cref(stop));
  std::this_thread::sleep_for(duration());
  stop = true;
  for (std::thread& thread : threads) thread.join();
  count_live();

  const auto snapshot = LoadTracker::snapshot();
  REQUIRE(snapshot.ok());
  CHECK(snapshot->account.dropped == 0);
  CHECK(snapshot->account.unmatched_frees == 0);
  CHECK(snapshot->account.unseen_frees == 0);
  CHECK(snapshot->stacks.size() == kThreads);
  for (const alloctap::StackSummary& stack : snapshot->stacks) {
    const std::size_t thread = snapshot->table->frames(stack.stack)[0] - 0x1000;
    CAPTURE(thread);
    CHECK(stack.total.allocations == done[thread].allocations);
    CHECK(stack.total.allocated_bytes == done[thread].bytes);
    CHECK(stack.live_allocations == live[thread].allocations);
    CHECK(stack.live_bytes == live[thread].bytes);
  }
}
