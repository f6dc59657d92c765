// What a tracker holds for 1e5 and 2e6 live blocks of 64 stacks, over each index: what it says
// itself (`tracker_bytes`) and what the kernel says that the process grew by. The blocks exist for
// the tracker alone. The time is that of recording one.
#include <benchmark/benchmark.h>

#include <alloctap/hook/manual_hook.hpp>
#include <alloctap/implement.hpp>
#include <alloctap/message_text.hpp>
#include <alloctap/meta/flat_hash_index.hpp>
#include <alloctap/meta/meta_container.hpp>
#include <alloctap/meta/shadow_index.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "alloctap/status.hpp"
#include "bench/call_paths.hpp"
#include "bench/made_up_heap.hpp"
#include "tests/support/process_memory.hpp"

namespace alloctap::bench {
namespace {

/// A tracker of its own for every index and number of blocks: none finds what another one left.
template <class Index, int kHeap>
struct Config : DefaultConfig {
  using Hook = ManualHook<Config>;
  using Meta = MemoryMetaContainer<Index>;
};

template <class Hook>
void tell_of(const std::vector<Block>& blocks) {
  CallPaths paths(8);
  for (const Block& block : blocks) {
    auto work = [&block] { Hook::on_allocate(block.address, block.size); };
    follow<0>(paths.next(), work);
  }
}

std::uint64_t bytes_spanned(const std::vector<Block>& blocks) {
  const auto first = reinterpret_cast<std::uintptr_t>(blocks.front().address);
  return reinterpret_cast<std::uintptr_t>(blocks.back().address) + blocks.back().size - first;
}

template <class Index, int kHeap, std::size_t kCount>
void record(benchmark::State& state) {
  using BenchTracker = Tracker<Config<Index, kHeap>>;
  const std::vector<Block> blocks = made_up_heap(start_of_heap(kHeap), kCount);
  testing::process_memory();
  const testing::ProcessMemory before = testing::process_memory();
  const std::size_t own_before = Arena::mapped_bytes();
  const Result<Session> session = BenchTracker::start();
  if (!session.ok()) return state.SkipWithError(to_string(session.status()).c_str());
  for (auto _ : state) tell_of<typename BenchTracker::Hook>(blocks);
  const Result<Snapshot> snapshot = BenchTracker::snapshot();
  if (!snapshot.ok() || snapshot->totals.live_allocations != kCount) {
    return state.SkipWithError("the tracker does not hold every block");
  }
  const testing::ProcessMemory after = testing::process_memory();
  const auto said = static_cast<double>(snapshot->account.tracker_bytes - own_before);
  const auto mapped = static_cast<double>(after.mapped - before.mapped);
  const auto resident = static_cast<double>(after.resident - before.resident);
  state.counters["said_per_mapped"] = said / mapped;
  state.counters["mapped_per_block"] = mapped / kCount;
  state.counters["resident_per_block"] = resident / kCount;
  state.counters["resident_per_heap_byte"] = resident / static_cast<double>(bytes_spanned(blocks));
  state.SetItemsProcessed(static_cast<std::int64_t>(kCount));
}

BENCHMARK(record<ShadowIndex, 0, 100'000>)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(record<FlatHashIndex, 0, 100'000>)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(record<ShadowIndex, 1, 2'000'000>)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(record<FlatHashIndex, 1, 2'000'000>)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace alloctap::bench
