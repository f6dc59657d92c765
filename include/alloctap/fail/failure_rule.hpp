/// A rule that selects the allocations to fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "alloctap/event/address_range.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/event/stack_owner.hpp"

namespace alloctap {

/// Selects allocations to fail. The first members choose among matching allocations, by default
/// all; the others define a match. A contradiction (`min_size` above `max_size`) matches nothing.
struct FailureRule {
  /// Matching allocations are numbered from 1. If set alone, only this number fails; with `every`,
  /// it is the first to fail.
  std::uint64_t nth = 0;
  /// Every `every`-th match fails; if this and `nth` are 0, all do.
  std::uint64_t every = 0;
  /// Fails about one in this many of those that `nth` and `every` select; 0 and 1 mean all. Depends
  /// only on `seed` and the number, so it is reproducible.
  std::uint64_t one_in = 0;
  std::uint64_t seed = 0;
  /// Upper bound of failures.
  std::uint64_t most_failures = std::numeric_limits<std::uint64_t>::max();

  /// Inclusive bounds in bytes. A reallocation counts with its new size.
  std::size_t min_size = 0;
  std::size_t max_size = std::numeric_limits<std::size_t>::max();
  /// Matches allocations in this tag (`nested_tag("Physics").id`); `kNoTag` matches all. Does not
  /// require `Tags` in the tracker.
  TagId tag = kNoTag;
  /// Excludes nested tags.
  bool only_that_tag = false;
  /// Matches one stack of an earlier snapshot, owner included; `kNoStackId` matches all.
  StackId stack = kNoStackId;
  /// Matches stacks with a call made from this code (`function_range`); empty matches none.
  std::optional<AddressRange> called_in = std::nullopt;
  /// Matches allocations of all threads, not only of the scope's thread.
  bool all_threads = false;
  /// Also matches what the control plane (start, snapshot, report) allocates on this thread, which
  /// has no stack.
  bool own_allocations = false;

  [[nodiscard]] constexpr bool fits_size(std::size_t size) const noexcept {
    return min_size <= size && size <= max_size;
  }

  [[nodiscard]] constexpr bool asks_for_stacks() const noexcept {
    return stack != kNoStackId || called_in.has_value();
  }

  /// Returns whether the match with this number, counted from 1, fails. Ignores `most_failures`.
  [[nodiscard]] constexpr bool chooses(std::uint64_t number) const noexcept {
    if (!is_in_row(number)) return false;
    return one_in <= 1 || mix(seed, number) % one_in == 0;
  }

 private:
  [[nodiscard]] constexpr bool is_in_row(std::uint64_t number) const noexcept {
    if (every == 0) return nth == 0 || number == nth;
    const std::uint64_t first = nth == 0 ? every : nth;
    return number >= first && (number - first) % every == 0;
  }

  /// SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
  static constexpr std::uint64_t mix(std::uint64_t start, std::uint64_t steps) noexcept {
    std::uint64_t word = start + steps * 0x9E3779B97F4A7C15;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
    return word ^ (word >> 31);
  }
};

}  // namespace alloctap
