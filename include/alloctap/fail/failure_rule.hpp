/// Which allocations are to fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "alloctap/event/address_range.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/event/stack_owner.hpp"

namespace alloctap {

/// The first group says which allocations fit, the second which of those that fit fail: all, unless
/// it is told. What contradicts itself, such as a `min_size` above `max_size`, fits nothing.
struct FailureRule {
  /// Those that fit are numbered from 1 on. Alone: that one fails. With `every`: the first to fail.
  std::uint64_t nth = 0;
  /// Each `every`-th fails; 0 and without `nth`: each.
  std::uint64_t every = 0;
  /// Of those that `nth` and `every` name, about one in so many, chosen by `seed` and the number
  /// alone: the same again, whatever the threads do. 0 and 1: all of them.
  std::uint64_t one_in = 0;
  std::uint64_t seed = 0;
  /// At most so many fail.
  std::uint64_t most_failures = std::numeric_limits<std::uint64_t>::max();

  /// In bytes, both included. A reallocation counts with its new size.
  std::size_t min_size = 0;
  std::size_t max_size = std::numeric_limits<std::size_t>::max();
  /// Those in this tag (`nested_tag("Physics").id`); `kNoTag`: in any and in none. It needs no
  /// `Tags` in the tracker.
  TagId tag = kNoTag;
  /// And none of those in a tag inside of it.
  bool only_that_tag = false;
  /// Those of this stack of an earlier snapshot; `kNoStackId`: of any. A stack of another owner is
  /// another one.
  StackId stack = kNoStackId;
  /// Those with a call made in that code (`function_code`); nothing is in an empty range.
  std::optional<AddressRange> called_in = std::nullopt;
  /// Those of all threads, and not only of the one that the scope begins on.
  bool all_threads = false;
  /// Also what the tracker allocates on this thread for its control plane: starts, snapshots,
  /// reports. Those have no stack.
  bool own_allocations = false;

  [[nodiscard]] constexpr bool fits_size(std::size_t size) const noexcept {
    return min_size <= size && size <= max_size;
  }

  [[nodiscard]] constexpr bool asks_for_stacks() const noexcept {
    return stack != kNoStackId || called_in.has_value();
  }

  /// Whether the one of that number fails, counted from 1, but for `most_failures`.
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
