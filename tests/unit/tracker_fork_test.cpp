#include <doctest/doctest.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <new>
#include <thread>

#include "alloctap/annotate.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/named_pools.hpp"
#include "alloctap/sample/adjustable_sampling.hpp"
#include "alloctap/sample/poisson_by_bytes.hpp"
#include "alloctap/sample/size_range.hpp"
#include "alloctap/status.hpp"
#include "tests/support/block_at.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/fakes.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

constexpr std::uint64_t kMean = 4096;

template <class Policy>
struct ForkedConfig : DefaultConfig {
  using Hook = ManualHook<ForkedConfig>;
  using Stack = ScriptedStack;
  using Sampling = Policy;
};

/// Which of the next 64 allocations are sampled, of sizes that make it most of the time a toss.
template <class Sampling>
std::uint64_t samples() {
  std::uint64_t word = 0;
  for (int i = 0; i < 64; ++i) {
    const bool sampled = Sampling::decide(*ThreadStates::mine(), kMean) != SampleDecision::kSkip;
    word = word << 1 | static_cast<std::uint64_t>(sampled);
  }
  return word;
}

/// What parent and children write and the parent reads.
class SharedWords {
 public:
  using Words = std::array<std::uint64_t, 3>;

  SharedWords()
      : words_(::new(::mmap(nullptr, sizeof(Words), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Words{}) {}
  SharedWords(const SharedWords&) = delete;
  SharedWords& operator=(const SharedWords&) = delete;
  ~SharedWords() { ::munmap(words_, sizeof(Words)); }

  std::uint64_t& operator[](std::size_t place) { return (*words_)[place]; }

 private:
  Words* words_;
};

struct ForkedPools : DefaultConfig {
  using Hook = ManualHook<ForkedPools>;
  using Stack = ScriptedStack;
  using Pools = NamedPools;
};

using Poisson = PoissonByBytes<kMean>;
using RangeOfPoisson = SizeRange<1, 100, PoissonByBytes<kMean + 1>>;

}  // namespace

TEST_CASE_TEMPLATE("children of one parent do not sample alike, nor like their parent", Sampling,
                   Poisson, RangeOfPoisson, AdjustableSampling) {
  if constexpr (std::is_same_v<Sampling, AdjustableSampling>) Sampling::set({.mean_bytes = kMean});
  {
    const auto session = Tracker<ForkedConfig<Sampling>>::start();
    REQUIRE(session.ok());
    static_cast<void>(samples<Sampling>());
    SharedWords words;
    for (const std::size_t child : {0U, 1U}) {
      CHECK(holds_in_child([&] {
        words[child] = samples<Sampling>();
        return true;
      }));
    }
    words[2] = samples<Sampling>();
    CHECK(words[0] != words[1]);
    CHECK(words[0] != words[2]);
    CHECK(words[1] != words[2]);
  }
  if constexpr (std::is_same_v<Sampling, AdjustableSampling>) Sampling::set({});
}

TEST_CASE("a child has the pools of its parent, whatever threads did with them at the fork") {
  constexpr std::array<std::uintptr_t, 1> kStack{0x100};
  const auto session = Tracker<ForkedPools>::start();
  const memory_pool pool{"forked"};
  ScriptedStack::play(kStack);
  pool.allocate(at(0x10), 100);
  std::atomic<bool> ends{false};
  std::thread other([&] {
    ScriptedStack::play(kStack);
    while (!ends.load()) {
      const memory_pool busy{"forked busy"};
      for (std::uintptr_t i = 1; i < 100; ++i) busy.allocate(at(i * 16), 1);
    }
  });
  for (int i = 0; i < 20; ++i) {
    CHECK(holds_in_child([&] {
      pool.allocate(at(0x20), 11);
      const memory_pool busy{"forked busy"};
      busy.allocate(at(0x10), 1);
      const alloctap::Result<Snapshot> snapshot = Tracker<ForkedPools>::snapshot();
      return snapshot.ok() && snapshot->pools.find("forked")->live_bytes == 111;
    }));
  }
  ends.store(true);
  other.join();
  const alloctap::Result<Snapshot> snapshot = Tracker<ForkedPools>::snapshot();
  CHECK(snapshot->pools.find("forked")->live_bytes == 100);
}
