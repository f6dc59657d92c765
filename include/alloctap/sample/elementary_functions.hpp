/// Math functions for sampling, in plain arithmetic. libm is avoided because it may not be loaded
/// in the program, and because a first call could run lazy binding inside malloc.
#pragma once

#include <bit>
#include <cstdint>

namespace alloctap {

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

}  // namespace alloctap
