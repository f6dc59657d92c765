/// A Poisson process over the bytes that one thread allocates.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/sample/elementary_functions.hpp"

namespace alloctap {

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
  /// `samples`, the caller may subtract the size of a nonempty allocation if that is not larger.
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
