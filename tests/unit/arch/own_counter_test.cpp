#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "alloctap/arch/instructions.hpp"

TEST_CASE("an own counter adds what fits into an instruction and what does not, and wraps around") {
  std::atomic<std::uint64_t> counter{0};
  alloctap::arch::add_to_own(counter, 1);
  alloctap::arch::add_to_own(counter, std::uint64_t{1} << 31);
  CHECK(counter == (std::uint64_t{1} << 31) + 1);
  std::uint64_t large = std::uint64_t{1} << 40;
  alloctap::arch::add_to_own(counter, large);
  alloctap::arch::add_to_own(counter, std::numeric_limits<std::uint64_t>::max());
  CHECK(counter == (std::uint64_t{1} << 40) + (std::uint64_t{1} << 31));
}
