#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include "alloctap/queue/buffer_queue.hpp"
#include "alloctap/record/recorder.hpp"
#include "alloctap/sample/poisson_by_bytes.hpp"
#include "alloctap/sample/poisson_sampler.hpp"
#include "tests/unit/record/recorder_fixture.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

/// Records sizes above 100, as if each stood for 2.5 allocations.
struct LargeSizes : SamplingPolicyArchetype {
  static SampleDecision decide(ThreadState&, std::size_t size) noexcept {
    return size > 100 ? SampleDecision::kWithStack : SampleDecision::kSkip;
  }
  static double weight(std::size_t) noexcept { return 2.5; }
  static SamplingDescription description() noexcept {
    return {.name = "large-sizes", .mean_bytes = 77};
  }
};

template <class Test>
struct WeightedConfig : RecorderConfig<Test> {
  using Sampling = LargeSizes;
};

/// As sampled, with a seed that is always the same.
template <class Test, std::uint64_t mean>
struct SeededPoisson : SamplingPolicyArchetype {
  static SampleDecision decide(ThreadState&, std::size_t size) noexcept {
    return sampler.samples(size, mean) ? SampleDecision::kWithStack : SampleDecision::kSkip;
  }
  static double weight(std::size_t size) noexcept { return PoissonSampler::weight(size, mean); }
  static SamplingDescription description() noexcept {
    return {.name = "seeded", .mean_bytes = mean};
  }
  static inline PoissonSampler sampler{42};
};

struct ExactTest;
struct SampledTemporaryTest;
struct SampledReallocationTest;
struct ThreadsTest;
struct PauseTest;
struct IntervalTest;
struct SumsTest;
struct ReplacedTest;

struct IntervalConfig : RecorderConfig<IntervalTest> {
  using Sampling = SeededPoisson<IntervalTest, 4096>;
};

struct OwnCallConfig : RecorderConfig<struct SampledOwnCallTest> {
  using Sampling = PoissonByBytes<std::uint64_t{1} << 20>;
};

struct BufferedSumsConfig : WeightedConfig<SumsTest> {
  using Queue = BufferQueue;
};

template <class Test>
using Sampled = Program<WeightedConfig<Test>>;

template <class P>
void begin() {
  ScriptedStack::play(kStack);
  P::Record::begin_session();
}

}  // namespace

TEST_CASE("while a policy samples, calls are counted exactly, and live numbers are weighed") {
  using P = Sampled<ExactTest>;
  begin<P>();
  P::allocate(0x1000, 10);
  P::allocate(0x2000, 200);
  P::allocate(0x3000, 1000);
  P::free(0x1000);
  P::free(0x2000);
  P::free(0x9000);
  const Snapshot snapshot = P::snapshot();
  CHECK(snapshot.totals.allocations == 3);
  CHECK(snapshot.totals.allocated_bytes == 1210);
  // Which frees are those of unknown blocks cannot be told: they count as well.
  CHECK(snapshot.totals.deallocations == 3);
  CHECK(snapshot.totals.live_allocations == 3);
  CHECK(snapshot.totals.live_bytes == 2500);
  CHECK(snapshot.totals.peak_live_bytes == 3000);
  REQUIRE(snapshot.stacks.size() == 1);
  CHECK(snapshot.stacks[0].total.allocations == 5);
  CHECK(snapshot.stacks[0].total.allocated_bytes == 3000);
  CHECK(snapshot.stacks[0].live_bytes == 2500);

  CHECK_FALSE(snapshot.sampling.exact);
  CHECK(snapshot.sampling.policy.name == "large-sizes");
  CHECK(snapshot.sampling.policy.mean_bytes == 77);
  CHECK(snapshot.sampling.live_samples == 1);
  const double variance = 1000.0 * 1000 * 2.5 * 1.5;
  CHECK(std::abs(static_cast<double>(snapshot.sampling.live_bytes_margin) -
                 1.96 * std::sqrt(variance)) <= 0.5);
}

TEST_CASE("temporary allocations are counted exactly, and weighed for their stack") {
  using P = Sampled<SampledTemporaryTest>;
  begin<P>();
  P::Record::finish_reallocate({});
  P::allocate(0x1000, 10);
  P::free(0x1000);
  P::Record::finish_reallocate({});
  P::allocate(0x2000, 200);
  P::free(0x2000);
  P::allocate(0x3000, 200);
  P::allocate(0x1000, 10);
  P::free(0x3000);
  P::free(0x1000);
  P::free(0x1000);
  const Snapshot snapshot = P::snapshot();
  CHECK(snapshot.totals.temporary_allocations == 3);
  REQUIRE(snapshot.stacks.size() == 1);
  CHECK(snapshot.stacks[0].total.allocations == 5);
  // 2.5, rounded.
  CHECK(snapshot.stacks[0].total.temporary_allocations == 3);
}

TEST_CASE("reallocations count as ever, whether the block was sampled or not") {
  using P = Sampled<SampledReallocationTest>;
  begin<P>();
  P::allocate(0x1000, 10);
  P::allocate(0x2000, 200);
  for (const std::uintptr_t block : {0x1000U, 0x2000U}) {
    P::Record::cancel_reallocate(P::begin_reallocate(block));
  }
  P::Record::cancel_reallocate({});
  P::Record::finish_reallocate({});
  CHECK(P::snapshot().totals.deallocations == 0);
  CHECK(P::snapshot().totals.live_bytes == 500);

  P::reallocate(0x2000, 0x3000, 50);
  P::reallocate(0x1000, 0x4000, 400);
  Snapshot snapshot = P::snapshot();
  CHECK(snapshot.totals.allocations == 4);
  CHECK(snapshot.totals.deallocations == 2);
  CHECK(snapshot.totals.live_bytes == 1000);
  CHECK(snapshot.totals.temporary_allocations == 1);
  P::reallocate(0x4000, 0x4000, 500);
  snapshot = P::snapshot();
  CHECK(snapshot.totals.temporary_allocations == 2);
  CHECK(snapshot.totals.live_bytes == 1250);
}

TEST_CASE("the calls of all threads are counted") {
  using P = Sampled<ThreadsTest>;
  begin<P>();
  std::vector<std::thread> threads;
  for (std::uintptr_t i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      ScriptedStack::play(kStack);
      for (std::uintptr_t block = 1; block <= 1000; ++block) {
        P::allocate((i << 20) + 16 * block, block % 2 == 0 ? 50 : 150);
      }
      for (std::uintptr_t block = 1; block <= 500; ++block) P::free((i << 20) + 16 * block);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Snapshot snapshot = P::snapshot();
  CHECK(snapshot.totals.allocations == 4000);
  CHECK(snapshot.totals.allocated_bytes == 4000 * 100);
  CHECK(snapshot.totals.deallocations == 2000);
  CHECK(snapshot.totals.live_allocations == 2500);
}

TEST_CASE("a pause keeps calls out of the count, sampled or not") {
  using P = Sampled<PauseTest>;
  begin<P>();
  P::allocate(0x1000, 10);
  P::allocate(0x2000, 200);
  P::Record::mode().pause();
  P::allocate(0x3000, 10);
  P::allocate(0x4000, 200);
  P::free(0x4000);
  P::free(0x2000);
  P::Record::mode().resume();
  const Snapshot snapshot = P::snapshot();
  CHECK(snapshot.totals.allocations == 2);
  CHECK(snapshot.totals.allocated_bytes == 210);
  CHECK(snapshot.totals.temporary_allocations == 0);
  CHECK(snapshot.totals.live_bytes == 0);
}

TEST_CASE("samples pass a queue by") {
  using P = Program<BufferedSumsConfig>;
  begin<P>();
  P::allocate(0x1000, 200);
  CHECK(P::snapshot().totals.live_bytes == 500);
  P::free(0x1000);
  CHECK(P::snapshot().totals.live_bytes == 0);
}

TEST_CASE("what is really live lies in the stated interval 95 times of 100") {
  using P = Program<IntervalConfig>;
  begin<P>();
  constexpr int kRounds = 300;
  constexpr std::uintptr_t kBlocks = 3000;
  int inside = 0;
  double sum = 0;
  double exact = 0;
  for (int round = 0; round < kRounds; ++round) {
    exact = 0;
    for (std::uintptr_t i = 1; i <= kBlocks; ++i) {
      const std::size_t size = i % 10 == 0 ? 6000 + i : 16 + i % 500;
      exact += static_cast<double>(size);
      P::allocate(16 * i, size);
    }
    const Snapshot snapshot = P::snapshot();
    const auto estimate = static_cast<double>(snapshot.totals.live_bytes);
    sum += estimate;
    if (std::abs(estimate - exact) <= static_cast<double>(snapshot.sampling.live_bytes_margin)) {
      ++inside;
    }
    for (std::uintptr_t i = 1; i <= kBlocks; ++i) P::free(16 * i);
  }
  // 285 are to be expected, with a standard deviation of 3.8.
  CHECK(inside >= 272);
  CHECK(inside <= 298);
  CHECK(std::abs(sum / kRounds / exact - 1) < 0.005);
  CHECK(P::snapshot().totals.allocations == kRounds * kBlocks);
  CHECK(P::snapshot().totals.deallocations == kRounds * kBlocks);
  CHECK(P::snapshot().totals.live_bytes == 0);
}

TEST_CASE("a block that was sampled is found though another one came to its address unseen") {
  using P = Sampled<ReplacedTest>;
  begin<P>();
  P::allocate(0x1000, 200);
  P::allocate(0x1000, 300);
  P::free(0x1000);
  P::free(0x1000);
  const Snapshot snapshot = P::snapshot();
  CHECK(snapshot.account.unseen_frees == 1);
  CHECK(snapshot.totals.live_bytes == 0);
}

TEST_CASE("a call that is not the program's is passed by, sampled or not") {
  using P = Program<OwnCallConfig>;
  begin<P>();
  P::allocate(0x1000, 10);
  const CallOrigin own{.caller = at(kOwnCaller)};
  for (const std::size_t size : {std::size_t{10}, std::size_t{1} << 30}) {
    P::Record::on_allocate({.pointer = at(0x2000), .size = size, .origin = own});
    P::Record::on_deallocate({.pointer = at(0x1000), .origin = own});
    CHECK(P::Record::begin_reallocate({.pointer = at(0x1000), .origin = own}).pointer == nullptr);
  }
  const Totals totals = P::snapshot().totals;
  CHECK(totals.allocations == 1);
  CHECK(totals.deallocations == 0);
}
