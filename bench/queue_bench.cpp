// What a pair of allocation and free costs behind the stack capture: queue, index and totals, on
// each combination of queue and index. Time is that of the whole process, so that what a queue's
// worker does counts too.
#include <benchmark/benchmark.h>

#include <alloctap/config.hpp>
#include <alloctap/meta/flat_hash_index.hpp>
#include <alloctap/meta/meta_container.hpp>
#include <alloctap/meta/shadow_index.hpp>
#include <alloctap/queue/buffer_queue.hpp>
#include <alloctap/queue/direct_queue.hpp>
#include <alloctap/record/block_tracker.hpp>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "bench/made_up_heap.hpp"

namespace alloctap::bench {
namespace {

constexpr int kMaxThreads = 4;

/// What a recorder does behind the capture of the stack.
template <class Queue, class Index>
struct QueueAndIndex {
  using Meta = MemoryMetaContainer<Index>;
  using Blocks = BlockTracker<Meta, QueueAndIndex>;
  static constexpr bool kKeepsPeak = false;
  static inline constinit Meta container;
  static inline constinit Blocks blocks;
  static inline constinit ThreadStatsTable table;
  static inline constinit typename Queue::template For<Blocks> queue{blocks};

  static Meta& meta() { return container; }
  static ThreadStatsTable& threads() { return table; }
  static ThreadStats* mine() { return table.mine(); }

  static void allocate(const Block& block) {
    ThreadStats& stats = *mine();
    const auto stack = static_cast<StackId>(block.size);
    const StackHash hash = StackHash{}.with(block.size);
    StackTotals::Entry* entry = stats.stacks.find(hash);
    if (entry == nullptr) entry = stats.stacks.add(hash, stack);
    StackTotals::count(*entry, block.size);
    stats.last.remember(block.address, entry, 0);
    queue.push_allocation(
        {.pointer = block.address, .record = {.stack = stack, .size = block.size}});
  }
  static void release(const Block& block) {
    mine()->last.note_free(block.address, 0);
    queue.push_deallocation(block.address);
  }

  static void start(const benchmark::State&) {
    if (!queue.start(Limits{}.max_queue_bytes).ok()) std::abort();
  }
  static void stop(const benchmark::State&) { queue.stop(); }
};

/// Each block is freed before the next one is allocated.
template <class Path>
void temporary(benchmark::State& state) {
  const auto blocks = made_up_heap(start_of_heap(state.thread_index()), 64);
  std::size_t next = 0;
  for (auto _ : state) {
    const Block& block = blocks[next++ % blocks.size()];
    Path::allocate(block);
    Path::release(block);
  }
  state.SetItemsProcessed(state.iterations());
}

/// 1000 blocks live; the oldest goes, and a new one takes its place.
template <class Path>
void fifo(benchmark::State& state) {
  const auto blocks = made_up_heap(start_of_heap(state.thread_index()), 1000);
  for (const Block& block : blocks) Path::allocate(block);
  std::size_t next = 0;
  for (auto _ : state) {
    const Block& block = blocks[next++ % blocks.size()];
    Path::release(block);
    Path::allocate(block);
  }
  for (const Block& block : blocks) Path::release(block);
  state.SetItemsProcessed(state.iterations());
}

/// Blocks on their way from the thread that allocates them to the one that frees them.
struct Belt {
  static constexpr std::size_t kRoom = 1024;
  alignas(64) std::atomic<std::size_t> put{0};
  alignas(64) std::atomic<std::size_t> taken{0};

  template <class Path>
  void put_one(const std::vector<Block>& blocks) {
    const std::size_t place = put.load(std::memory_order_relaxed);
    while (place - taken.load(std::memory_order_acquire) == kRoom) std::this_thread::yield();
    Path::allocate(blocks[place % kRoom]);
    put.store(place + 1, std::memory_order_release);
  }

  template <class Path>
  void take_one(const std::vector<Block>& blocks) {
    const std::size_t place = taken.load(std::memory_order_relaxed);
    while (place == put.load(std::memory_order_acquire)) std::this_thread::yield();
    Path::release(blocks[place % kRoom]);
    taken.store(place + 1, std::memory_order_release);
  }
};

std::array<Belt, kMaxThreads> belts;

/// Every thread allocates, and frees what its neighbour allocated 512 blocks ago.
template <class Path>
void freed_elsewhere(benchmark::State& state) {
  const int mine = state.thread_index();
  const int other = (mine + 1) % state.threads();
  const auto blocks = made_up_heap(start_of_heap(mine), Belt::kRoom);
  const auto other_blocks = made_up_heap(start_of_heap(other), Belt::kRoom);
  Belt& belt = belts[static_cast<std::size_t>(mine)];
  Belt& other_belt = belts[static_cast<std::size_t>(other)];
  for (std::size_t i = 0; i < Belt::kRoom / 2; ++i) belt.put_one<Path>(blocks);
  for (auto _ : state) {
    belt.put_one<Path>(blocks);
    other_belt.take_one<Path>(other_blocks);
  }
  for (std::size_t i = 0; i < Belt::kRoom / 2; ++i) other_belt.take_one<Path>(other_blocks);
  state.SetItemsProcessed(state.iterations());
}

template <class Path>
void add(const std::string& name, void (*pattern)(benchmark::State&), int fewest_threads) {
  benchmark::RegisterBenchmark(name.c_str(), pattern)
      ->Setup(&Path::start)
      ->Teardown(&Path::stop)
      ->ThreadRange(fewest_threads, kMaxThreads)
      ->MeasureProcessCPUTime();
}

template <class Queue, class Index>
void add_all(const std::string& combination) {
  using Path = QueueAndIndex<Queue, Index>;
  add<Path>("temporary/" + combination, &temporary<Path>, 1);
  add<Path>("fifo/" + combination, &fifo<Path>, 1);
  add<Path>("freed_elsewhere/" + combination, &freed_elsewhere<Path>, 2);
}

const bool added = [] {
  add_all<DirectQueue, ShadowIndex>("DirectQueue/ShadowIndex");
  add_all<BufferQueue, ShadowIndex>("BufferQueue/ShadowIndex");
  add_all<DirectQueue, FlatHashIndex>("DirectQueue/FlatHashIndex");
  add_all<BufferQueue, FlatHashIndex>("BufferQueue/FlatHashIndex");
  return true;
}();

}  // namespace
}  // namespace alloctap::bench
