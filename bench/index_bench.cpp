// Pointer indexes: what it costs to take a record out and put another one in, and how much memory a
// live block takes, at 1e3, 1e5 and 2e6 live blocks.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <alloctap/meta/flat_hash_index.hpp>
#include <alloctap/meta/shadow_index.hpp>
#include <alloctap/runtime/arena.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/made_up_heap.hpp"
#include "tests/support/process_memory.hpp"

namespace alloctap::bench {
namespace {

constexpr std::array<std::size_t, 3> kCounts{1'000, 100'000, 2'000'000};

BlockRecord record_of(const Block& block) {
  return {.stack = static_cast<StackId>(block.size), .size = block.size};
}

/// An index with all blocks in it, and the memory that this took.
template <class Index>
struct FilledIndex {
  explicit FilledIndex(std::size_t count) : blocks(made_up_heap(start_of_heap(0), count)) {
    const std::size_t mapped_before = Arena::mapped_bytes();
    const std::size_t resident_before = testing::process_memory().resident;
    for (const Block& block : blocks) index.insert(block.address, record_of(block));
    resident = testing::process_memory().resident - resident_before;
    mapped = Arena::mapped_bytes() - mapped_before;
    shuffled = blocks;
    std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(1));
  }

  Index index;
  std::vector<Block> blocks;
  std::vector<Block> shuffled;
  std::size_t mapped = 0;
  std::size_t resident = 0;
};

/// Indexes never give their memory back, so there is one of each kind and size. They are filled by
/// size: then none finds blocks in the arena that a larger one left.
template <class Index>
FilledIndex<Index>& filled_index(std::size_t count) {
  static std::array<std::unique_ptr<FilledIndex<Index>>, kCounts.size()> indexes;
  for (std::size_t i = 0;; ++i) {
    if (indexes[i] == nullptr) indexes[i] = std::make_unique<FilledIndex<Index>>(kCounts[i]);
    if (kCounts[i] == count) return *indexes[i];
  }
}

template <class Index>
void take_and_insert(benchmark::State& state, bool in_order) {
  const auto count = static_cast<std::size_t>(state.range(0));
  FilledIndex<Index>& filled = filled_index<Index>(count);
  const std::vector<Block>& blocks = in_order ? filled.blocks : filled.shuffled;
  std::size_t next = 0;
  for (auto _ : state) {
    const Block& block = blocks[next];
    next = next + 1 == count ? 0 : next + 1;
    benchmark::DoNotOptimize(filled.index.take(block.address));
    filled.index.insert(block.address, record_of(block));
  }
  state.SetItemsProcessed(state.iterations());
  const auto per_block = [&](std::size_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(count);
  };
  state.counters["mapped_per_block"] = per_block(filled.mapped);
  state.counters["resident_per_block"] = per_block(filled.resident);
}

template <class Index>
void add(const std::string& index) {
  for (const bool in_order : {true, false}) {
    const std::string name = index + (in_order ? "/in_order" : "/shuffled");
    auto* bench = benchmark::RegisterBenchmark(name.c_str(), &take_and_insert<Index>, in_order);
    for (const std::size_t count : kCounts) bench->Arg(static_cast<std::int64_t>(count));
  }
}

const bool added = [] {
  add<ShadowIndex>("ShadowIndex");
  add<FlatHashIndex>("FlatHashIndex");
  return true;
}();

}  // namespace
}  // namespace alloctap::bench
