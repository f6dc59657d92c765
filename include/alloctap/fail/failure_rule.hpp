/// A rule that selects the allocations to fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "alloctap/event/address_range.hpp"
#include "alloctap/event/stack_identity.hpp"

namespace alloctap {

/// Selects the allocations that fail. Members `nth` to `most_failures` select among matching
/// allocations; by default all of them fail. The other members define which allocations match. A
/// contradiction (`min_size` above `max_size`) matches nothing.
struct FailureRule {
  /// Matching allocations are numbered from 1. If `every` is 0, only number `nth` fails. Otherwise
  /// `nth` is the first number to fail.
  std::uint64_t nth = 0;
  /// Every `every`-th matching allocation fails. If `every` and `nth` are 0, all of them fail.
  std::uint64_t every = 0;
  /// About one in `one_in` of the allocations that `nth` and `every` select fails; 0 and 1 mean
  /// all. The choice depends only on `seed` and the allocation's number, so it is reproducible.
  std::uint64_t one_in = 0;
  std::uint64_t seed = 0;
  /// Maximum number of failures.
  std::uint64_t most_failures = std::numeric_limits<std::uint64_t>::max();

  /// Inclusive bounds of the requested size in bytes. The size of a reallocation is its new size.
  std::size_t min_size = 0;
  std::size_t max_size = std::numeric_limits<std::size_t>::max();
  /// Matches allocations made in this tag (`nested_tag("Physics").id`) or in tags nested in it;
  /// `kNoTag` matches all. Does not require that the tracker has `Tags`.
  TagId tag = kNoTag;
  /// If true, `tag` does not match allocations in nested tags.
  bool only_that_tag = false;
  /// Matches one stack id of an earlier snapshot; `kNoStackId` matches all. The id also
  /// distinguishes tag and thread if the tracker's `Tags` do.
  StackId stack = kNoStackId;
  /// Matches stacks with a return address in this code (`function_range`); an empty range matches
  /// none.
  std::optional<AddressRange> called_in = std::nullopt;
  /// Matches allocations of all threads, not only of the scope's thread.
  bool all_threads = false;
  /// Also matches allocations by the tracker (start, snapshot, report) on this thread. The
  /// tracker's allocations have no stack.
  bool own_allocations = false;

  [[nodiscard]] constexpr bool fits_size(std::size_t size) const noexcept {
    return min_size <= size && size <= max_size;
  }

  [[nodiscard]] constexpr bool asks_for_stacks() const noexcept {
    return stack != kNoStackId || called_in.has_value();
  }

  /// Returns whether matching allocation `number` (from 1) fails. Ignores `most_failures`.
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

  /// Returns a random number by SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom
  /// Number Generators", 2014.
  static constexpr std::uint64_t mix(std::uint64_t start, std::uint64_t steps) noexcept {
    std::uint64_t word = start + steps * 0x9E3779B97F4A7C15;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
    return word ^ (word >> 31);
  }
};

}  // namespace alloctap
