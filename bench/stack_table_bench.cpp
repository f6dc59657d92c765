// Interning a stack: one that is known, one that is new, known ones by two threads.
#include <benchmark/benchmark.h>

#include <alloctap/stack/stack_table.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace alloctap::bench {
namespace {

/// A stack in a buffer that stays in the cache, as a capture leaves it. Stacks of different numbers
/// differ in their innermost frames and share the others, as those of programs do.
class MadeUpStack {
 public:
  explicit MadeUpStack(std::size_t depth) {
    for (std::size_t i = 0; i < depth; ++i) frames_.push_back(kText + i * 0x1234);
  }

  std::span<const std::uintptr_t> number(std::size_t value) {
    frames_[0] = kText + value % 64 * 16;
    frames_[1] = kText + value / 64 * 32;
    return frames_;
  }

 private:
  static constexpr std::uintptr_t kText = 0x5500'0000'1000;
  std::vector<std::uintptr_t> frames_;
};

/// Visits all of `count` numbers, neighbours far apart.
class Wanderer {
 public:
  explicit Wanderer(std::size_t count) : count_(count) {}
  std::size_t next() { return at_ = (at_ + kStep) % count_; }

 private:
  /// Has no divisor in common with a power of ten.
  static constexpr std::size_t kStep = 61'803;
  std::size_t count_;
  std::size_t at_ = 0;
};

/// Tables never give their memory back, so there is one for each depth and number of stacks.
StackTable& filled_table(std::size_t depth, std::size_t count) {
  static std::mutex lock;
  static std::map<std::pair<std::size_t, std::size_t>, std::unique_ptr<StackTable>> tables;
  const std::lock_guard hold(lock);
  std::unique_ptr<StackTable>& table = tables[{depth, count}];
  if (table != nullptr) return *table;
  table = std::make_unique<StackTable>();
  MadeUpStack stack(depth);
  for (std::size_t i = 0; i < count; ++i) static_cast<void>(table->intern(stack.number(i)));
  return *table;
}

void intern_known(benchmark::State& state) {
  const auto depth = static_cast<std::size_t>(state.range(0));
  const auto count = static_cast<std::size_t>(state.range(1));
  StackTable& table = filled_table(depth, count);
  MadeUpStack stack(depth);
  Wanderer wanderer(count);
  for (auto _ : state) benchmark::DoNotOptimize(table.intern(stack.number(wanderer.next())));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(intern_known)
    ->ArgNames({"depth", "stacks"})
    ->ArgsProduct({{8, 16, 64}, {1'000, 100'000}})
    ->ThreadRange(1, 2);

/// The table grows from run to run, as that of a program does that shows new stacks all the time.
void intern_new(benchmark::State& state) {
  const auto depth = static_cast<std::size_t>(state.range(0));
  static std::map<std::size_t, std::size_t> counts;
  StackTable& table = filled_table(depth, 0);
  MadeUpStack stack(depth);
  std::size_t& count = counts[depth];
  for (auto _ : state) benchmark::DoNotOptimize(table.intern(stack.number(count++)));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(intern_new)->ArgName("depth")->Arg(8)->Arg(16)->Arg(64)->Iterations(50'000);

/// What of `intern_known` is the hash.
void hash_alone(benchmark::State& state) {
  MadeUpStack stack(static_cast<std::size_t>(state.range(0)));
  Wanderer wanderer(1'000);
  for (auto _ : state) benchmark::DoNotOptimize(hash_frames(stack.number(wanderer.next())).first);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(hash_alone)->ArgName("depth")->Arg(8)->Arg(16)->Arg(64);

}  // namespace
}  // namespace alloctap::bench
