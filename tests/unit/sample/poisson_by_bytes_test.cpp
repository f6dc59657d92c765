#include "alloctap/sample/poisson_by_bytes.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <thread>

namespace {

using alloctap::PoissonByBytes;
using alloctap::PoissonSampler;
using alloctap::SampleDecision;
using alloctap::ThreadStates;

using ByBytes = PoissonByBytes<4096>;

/// The decisions on some allocations of the calling thread, one character each.
std::string decisions() {
  alloctap::ThreadState& thread = *ThreadStates::mine();
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += ByBytes::decide(thread, 1000) == SampleDecision::kSkip ? '-' : '+';
  }
  return text;
}

}  // namespace

TEST_CASE("about one allocation in the mean number of bytes is recorded, with its stack") {
  alloctap::ThreadState& thread = *ThreadStates::mine();
  constexpr int kTries = 200'000;
  int hits = 0;
  for (int i = 0; i < kTries; ++i) {
    const SampleDecision decision = ByBytes::decide(thread, 100);
    CHECK(decision != SampleDecision::kWithoutStack);
    if (decision == SampleDecision::kWithStack) ++hits;
  }
  const double expected = kTries * -std::expm1(-100.0 / 4096);
  // Six standard deviations: the seed is another one in each run.
  CHECK(std::abs(hits - expected) < 6 * std::sqrt(expected));
}

TEST_CASE("each thread has a sampler of its own, which another thread's allocations do not move") {
  std::set<std::string> texts;
  for (int i = 0; i < 4; ++i) {
    std::thread([&texts] { texts.insert(decisions()); }).join();
  }
  texts.insert(decisions());
  CHECK(texts.size() == 5);
}

TEST_CASE("weight and description are those of the mean") {
  static_assert(!ByBytes::records_everything());
  CHECK(ByBytes::weight(100) == PoissonSampler::weight(100, 4096));
  CHECK(ByBytes::description().name == "poisson-by-bytes");
  CHECK(ByBytes::description().mean_bytes == 4096);
  CHECK(ByBytes::description().max_bytes == UINT64_MAX);
}
