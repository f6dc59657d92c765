#include "alloctap/sample/poisson_sampler.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace {

using alloctap::PoissonSampler;

constexpr std::uint64_t kMean = 1000;

double probability(std::size_t size) {
  return -std::expm1(-static_cast<double>(size) / static_cast<double>(kMean));
}

/// How far a count of hits lies from what `probability` makes expect, in standard deviations.
double deviation(std::uint64_t hits, std::uint64_t tries, double probability) {
  const double expected = static_cast<double>(tries) * probability;
  return (static_cast<double>(hits) - expected) / std::sqrt(expected * (1 - probability));
}

}  // namespace

TEST_CASE("an allocation is sampled with the probability that its size asks for") {
  constexpr std::array<std::size_t, 6> kSizes{1, 16, 300, 1000, 1500, 4000};
  std::array<std::uint64_t, kSizes.size()> hits{};
  constexpr std::uint64_t kRounds = 200'000;
  PoissonSampler sampler(1);
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      if (sampler.samples(kSizes[i], kMean)) ++hits[i];
    }
  }
  // The sum of squares is chi-square distributed: above 27.9 for 1 seed in 10,000.
  double chi_square = 0;
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    const double z = deviation(hits[i], kRounds, probability(kSizes[i]));
    CAPTURE(kSizes[i]);
    CAPTURE(z);
    CHECK(std::abs(z) < 4);
    chi_square += z * z;
  }
  CHECK(chi_square < 27.9);
}

TEST_CASE("samples do not depend on each other") {
  PoissonSampler sampler(2);
  constexpr std::size_t kSize = 700;
  constexpr std::uint64_t kTries = 500'000;
  std::uint64_t after_sample = 0;
  std::uint64_t samples = 0;
  bool last = false;
  for (std::uint64_t i = 0; i < kTries; ++i) {
    const bool now = sampler.samples(kSize, kMean);
    if (last) {
      ++samples;
      if (now) ++after_sample;
    }
    last = now;
  }
  CHECK(std::abs(deviation(after_sample, samples, probability(kSize))) < 4);
}

TEST_CASE("the weight is the inverse of the probability") {
  for (const std::size_t size : {1U, 10U, 999U, 1000U, 5000U, 1'000'000U}) {
    CHECK(PoissonSampler::weight(size, kMean) == doctest::Approx(1 / probability(size)));
  }
  CHECK(PoissonSampler::weight(1, 512 * 1024) == doctest::Approx(512 * 1024 + 0.5));
  CHECK(PoissonSampler::weight(SIZE_MAX, kMean) == 1);
}

TEST_CASE("weighted samples are unbiased estimates of counts and bytes, seed by seed") {
  constexpr int kSeeds = 400;
  constexpr int kAllocations = 2000;
  double count_sum = 0;
  double byte_sum = 0;
  double count_variance = 0;
  double byte_variance = 0;
  double exact_bytes = 0;
  for (int i = 0; i < kAllocations; ++i) {
    // From 0 bytes, which counts as one, to several means.
    const auto size = static_cast<std::size_t>(i % 7 == 0 ? i * 3 : i % 60);
    const double p = 1 / PoissonSampler::weight(size, kMean);
    exact_bytes += static_cast<double>(size);
    count_variance += (1 - p) / p;
    byte_variance += static_cast<double>(size) * static_cast<double>(size) * (1 - p) / p;
  }
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    PoissonSampler sampler(seed);
    for (int i = 0; i < kAllocations; ++i) {
      const auto size = static_cast<std::size_t>(i % 7 == 0 ? i * 3 : i % 60);
      if (!sampler.samples(size, kMean)) continue;
      count_sum += PoissonSampler::weight(size, kMean);
      byte_sum += PoissonSampler::weight(size, kMean) * static_cast<double>(size);
    }
  }
  // Both deviations are far below one part in a hundred: a wrong weight would show.
  const double count_deviation = std::sqrt(count_variance / kSeeds);
  const double byte_deviation = std::sqrt(byte_variance / kSeeds);
  CHECK(count_deviation < 0.02 * kAllocations);
  CHECK(byte_deviation < 0.005 * exact_bytes);
  CHECK(std::abs(count_sum / kSeeds - kAllocations) < 4 * count_deviation);
  CHECK(std::abs(byte_sum / kSeeds - exact_bytes) < 4 * byte_deviation);
}

TEST_CASE("empty allocations are sampled as if they had one byte") {
  PoissonSampler sampler(3);
  std::uint64_t hits = 0;
  for (int i = 0; i < 1'000'000; ++i) hits += static_cast<std::uint64_t>(sampler.samples(0, 10));
  CHECK(std::abs(deviation(hits, 1'000'000, -std::expm1(-0.1))) < 4);
  CHECK(PoissonSampler::weight(0, 10) == PoissonSampler::weight(1, 10));
}

TEST_CASE("the largest sizes and means are within what the sampler counts with") {
  PoissonSampler sampler(4);
  for (int i = 0; i < 100; ++i) CHECK(sampler.samples(SIZE_MAX, 2));
  sampler.restart();
  for (int i = 0; i < 100; ++i) CHECK_FALSE(sampler.samples(1, std::uint64_t{1} << 60));
  sampler.restart();
  static_cast<void>(sampler.samples(1, UINT64_MAX));
}

TEST_CASE("a restarted sampler keeps to its new mean at once") {
  PoissonSampler sampler(5);
  CHECK_FALSE(sampler.samples(1, std::uint64_t{1} << 60));
  sampler.restart();
  std::uint64_t hits = 0;
  for (int i = 0; i < 100'000; ++i) hits += static_cast<std::uint64_t>(sampler.samples(1, 10));
  CHECK(std::abs(deviation(hits, 100'000, -std::expm1(-0.1))) < 4);
}

TEST_CASE("equal seeds give equal samples, others do not") {
  PoissonSampler one(6);
  PoissonSampler same(6);
  PoissonSampler other(7);
  int differences = 0;
  for (int i = 0; i < 10'000; ++i) {
    const bool sampled = one.samples(500, kMean);
    CHECK(same.samples(500, kMean) == sampled);
    if (other.samples(500, kMean) != sampled) ++differences;
  }
  CHECK(differences > 1000);
}
