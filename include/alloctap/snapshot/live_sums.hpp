/// Sums over live blocks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/sample/elementary_functions.hpp"
#include "alloctap/sample/sampling_policy.hpp"
#include "alloctap/snapshot/size_histogram.hpp"

namespace alloctap {

/// Sums of live blocks by stack and by size class. Computed while the world is stopped, with two
/// array updates per block. With sampling, the sums are Horvitz-Thompson estimates, which add the
/// weight w of each sample. The variance estimate is the sum of size^2 w (w - 1) over the samples.
/// Not thread-safe. Allocated in the arena.
class LiveSums {
 public:
  /// Sums of weights. The sums are integers if every weight is 1.
  struct Sum {
    double blocks = 0;
    double bytes = 0;

    [[nodiscard]] std::uint64_t whole_blocks() const noexcept { return rounded(blocks); }
    [[nodiscard]] std::uint64_t whole_bytes() const noexcept { return rounded(bytes); }
  };

  /// Reserves memory for stacks with ids below `end`. Returns false if out of memory.
  [[nodiscard]] bool expect_stacks(std::size_t end) noexcept { return by_stack_.resize(end); }

  /// Adds a block with weight 1. Precondition: `expect_stacks` covers its stack.
  void add(const BlockRecord& record) noexcept {
    ++samples_;
    add(record, 1);
  }

  /// Adds a sampled block of weight `weight`.
  void add_sample(const BlockRecord& record, double weight) noexcept {
    const double bytes = static_cast<double>(record.size);
    variance_ += bytes * bytes * weight * (weight - 1);
    ++samples_;
    add(record, weight);
  }

  /// Returns the bound that was passed to `expect_stacks`.
  [[nodiscard]] std::size_t end_stack() const noexcept { return by_stack_.size(); }
  /// Returns the number of stacks with live blocks.
  [[nodiscard]] std::size_t held_stacks() const noexcept {
    return static_cast<std::size_t>(std::count_if(
        by_stack_.begin(), by_stack_.end(), [](const Sum& sum) { return sum.whole_blocks() > 0; }));
  }
  [[nodiscard]] const Sum& of(StackId stack) const noexcept { return by_stack_[stack]; }
  [[nodiscard]] std::uint64_t samples() const noexcept { return samples_; }

  [[nodiscard]] SizeHistogram sizes() const noexcept {
    SizeHistogram sizes;
    for (std::size_t i = 0; i < kSizeClasses; ++i) {
      sizes[i] = {by_size_[i].whole_blocks(), by_size_[i].whole_bytes()};
    }
    return sizes;
  }

  [[nodiscard]] std::uint64_t live_bytes() const noexcept {
    double bytes = 0;
    for (const Sum& sum : by_size_) bytes += sum.bytes;
    return rounded(bytes);
  }

  /// Returns the half-width of the 95 % confidence interval around `live_bytes`.
  [[nodiscard]] std::uint64_t margin() const noexcept {
    constexpr double kDeviationsFor95Percent = 1.96;
    return rounded(kDeviationsFor95Percent * square_root(variance_));
  }

 private:
  static std::uint64_t rounded(double number) noexcept {
    return static_cast<std::uint64_t>(number + 0.5);
  }

  void add(const BlockRecord& record, double weight) noexcept {
    const double bytes = weight * static_cast<double>(record.size);
    Sum& stack = by_stack_[record.stack];
    stack.blocks += weight;
    stack.bytes += bytes;
    Sum& size = by_size_[size_class(record.size)];
    size.blocks += weight;
    size.bytes += bytes;
  }

  /// Sums by StackId.
  ArenaArray<Sum> by_stack_;
  std::array<Sum, kSizeClasses> by_size_{};
  double variance_ = 0;
  std::uint64_t samples_ = 0;
};

}  // namespace alloctap
