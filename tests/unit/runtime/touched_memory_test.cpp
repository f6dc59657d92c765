#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/runtime/shadow_memory.hpp"
#include "tests/support/brought_in.hpp"
#include "tests/support/untouched_memory.hpp"

using alloctap::copy_touched;
using alloctap::testing::resident_growth;
using alloctap::testing::tells_untouched;
using alloctap::testing::UntouchedMemory;

namespace {

constexpr std::size_t kBytes = std::size_t{4} << 20;

std::size_t touched_bytes(std::byte* begin, std::size_t bytes) {
  std::size_t touched = 0;
  alloctap::visit_touched(begin, bytes, [&](std::byte*, std::size_t size) { touched += size; });
  return touched;
}

}  // namespace

TEST_CASE("a small block counts as touched") {
  const UntouchedMemory memory(kBytes);
  CHECK(touched_bytes(memory.begin() + 16, 100'000) == 100'000);
  CHECK(touched_bytes(memory.begin(), 0) == 0);
}

TEST_CASE("of a large block the pages that are there count as touched") {
  const UntouchedMemory memory(kBytes);
  std::memset(memory.begin() + 100'000, 1, 10'000);
  const std::size_t touched = touched_bytes(memory.begin() + 32, kBytes - 64);
  CHECK(touched >= 10'000);
  CHECK(touched <= (tells_untouched() ? 10'000 + 2 * alloctap::os::page_size() : kBytes));
}

TEST_CASE("a copy is the same as memcpy's, whatever was touched on either side") {
  const UntouchedMemory from(kBytes);
  const UntouchedMemory to(kBytes);
  for (const std::size_t offset : {0U, 300'000U, 1'000'000U, 3'999'000U}) {
    std::memset(from.begin() + offset, 0x33, 5000);
  }
  for (const std::size_t offset : {2000U, 700'000U, 1'000'000U}) {
    std::memset(to.begin() + offset, 0x44, 9000);
  }
  const std::size_t bytes = kBytes - 4000;
  CHECK(resident_growth([&] { copy_touched(to.begin() + 48, from.begin() + 16, bytes); }) <
        (tells_untouched() ? std::ptrdiff_t{1} << 20 : std::ptrdiff_t{1} << 40));
  CHECK(std::memcmp(to.begin() + 48, from.begin() + 16, bytes) == 0);
  CHECK(to.begin()[47] == std::byte{0});
  CHECK(to.begin()[48 + bytes] == std::byte{0});
}
