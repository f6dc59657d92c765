/// A Poisson process over the bytes that one thread allocates, and its math functions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"

namespace alloctap {

// Math functions for sampling, in plain arithmetic. libm is avoided because it may not be loaded
// in the program, and because a first call could run lazy binding inside malloc.

inline constexpr double kNaturalLogOf2 = 0.693147180559945309417;

/// Returns ln(x) to about 15 digits. `x` is positive and normal.
[[nodiscard]] constexpr double natural_log(double x) noexcept {
  constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;
  constexpr double kSquareRootOf2 = 1.41421356237309504880;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double fraction = std::bit_cast<double>((bits & kMantissa) | std::bit_cast<std::uint64_t>(1.0));
  if (fraction > kSquareRootOf2) {
    fraction /= 2;
    ++exponent;
  }
  // ln(f) = 2 artanh((f - 1) / (f + 1)), computed as a series of odd powers.
  const double s = (fraction - 1) / (fraction + 1);
  double sum = 0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * s * s + 1.0 / k;
  return 2 * s * sum + exponent * kNaturalLogOf2;
}

/// Returns 1 - exp(-x) to about 15 digits, even for tiny `x`. `x` is not negative.
[[nodiscard]] constexpr double one_minus_exp(double x) noexcept {
  constexpr double kAllButOne = 700;
  if (x > kAllButOne) return 1;
  // exp(-x) = 2^-k exp(-r) with |r| <= ln(2) / 2.
  const auto k = static_cast<int>(x / kNaturalLogOf2 + 0.5);
  const double r = x - k * kNaturalLogOf2;
  double sum = 1;
  for (int n = 17; n >= 2; --n) sum = 1 - r / n * sum;
  const double one_minus_exp_r = r * sum;
  const auto power = std::bit_cast<double>(static_cast<std::uint64_t>(1023 - k) << 52);
  return (1 - power) + power * one_minus_exp_r;
}

/// Returns the square root to about 15 digits. `x` is not negative.
[[nodiscard]] constexpr double square_root(double x) noexcept {
  if (!(x > 0)) return 0;
  // Newton's method, started above the root, descends until it has converged.
  double root = x < 1 ? 1 : x;
  for (double next = (root + x / root) / 2; next < root; next = (root + x / root) / 2) root = next;
  return root;
}

/// A Poisson process whose points lie at exponentially distributed distances in the sequence of
/// allocated bytes. An allocation of `s` bytes is sampled if it contains a point, so with
/// probability 1 - exp(-s / mean), independently of others. tcmalloc (sampler.cc) and Chromium
/// (poisson_allocation_sampler.cc) use this method. Not thread-safe; runs inside malloc.
class PoissonSampler {
 public:
  /// Samplers with equal seeds choose equal samples.
  explicit PoissonSampler(std::uint64_t seed) noexcept : state_(seed) {}

  /// Returns whether the next `size` bytes contain a point. Size 0 counts as one byte, so that some
  /// empty allocations are sampled. `mean_bytes` is positive, and may change only after `restart`.
  [[nodiscard]] bool samples(std::size_t size, std::uint64_t mean_bytes) noexcept {
    const std::size_t bytes = size + static_cast<std::size_t>(size == 0);
    if (bytes <= bytes_before_point_) [[likely]] {
      bytes_before_point_ -= bytes;
      return false;
    }
    return reach_point(bytes, mean_bytes);
  }

  /// Returns the number of bytes before the next point; 0 if no point was drawn. Instead of calling
  /// `samples`, the caller may subtract the size of a nonempty allocation that fits.
  [[nodiscard]] std::uint64_t& countdown() noexcept { return bytes_before_point_; }

  /// Discards the next point. Call it before `mean_bytes` changes.
  void restart() noexcept {
    bytes_before_point_ = 0;
    knows_point_ = false;
  }

  /// Makes a copy choose other samples than its original; `entropy` differs between copies.
  void reseed(std::uint64_t entropy) noexcept {
    state_ ^= entropy;
    restart();
  }

  /// Returns the number of allocations of `size` bytes that one sample represents (Horvitz-Thompson
  /// estimator).
  [[nodiscard]] static constexpr double weight(std::size_t size,
                                               std::uint64_t mean_bytes) noexcept {
    const std::size_t bytes = size + static_cast<std::size_t>(size == 0);
    return 1 / one_minus_exp(static_cast<double>(bytes) / static_cast<double>(mean_bytes));
  }

 private:
  /// Draws the next point, counted from the end of this allocation. The position of the point
  /// inside the allocation does not matter, because a Poisson process is memoryless.
  ALLOCTAP_NOINLINE bool reach_point(std::size_t bytes, std::uint64_t mean_bytes) noexcept {
    const bool knew_point = knows_point_;
    bytes_before_point_ = draw_distance(mean_bytes) - 1;
    knows_point_ = true;
    return knew_point || samples(bytes, mean_bytes);
  }

  /// Rounds up: the result exceeds an integer `s` exactly if the unrounded distance exceeds `s`.
  std::uint64_t draw_distance(std::uint64_t mean_bytes) noexcept {
    const double distance = -natural_log(draw_uniform()) * static_cast<double>(mean_bytes);
    constexpr double kFarthest = 0x1p63;
    if (distance >= kFarthest) return std::uint64_t{1} << 63;
    return static_cast<std::uint64_t>(distance) + 1;
  }

  /// Returns a number in (0, 1] by SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom
  /// number generators", 2014.
  double draw_uniform() noexcept {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    mixed ^= mixed >> 31;
    return static_cast<double>((mixed >> 11) + 1) * 0x1p-53;
  }

  std::uint64_t state_;
  std::uint64_t bytes_before_point_ = 0;
  bool knows_point_ = false;
};

}  // namespace alloctap
