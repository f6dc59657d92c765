#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/check/checked_block.hpp"
#include "tests/support/brought_in.hpp"
#include "tests/support/exhausted_arena.hpp"
#include "tests/support/untouched_memory.hpp"

using alloctap::FilledParts;
using alloctap::testing::tells_untouched;
using alloctap::testing::UntouchedMemory;

namespace {

constexpr std::uint8_t kByte = 0xEF;
constexpr std::size_t kBytes = std::size_t{2} << 20;

/// Bytes of all parts that were filled, and are as they were.
std::size_t filled_bytes(const FilledParts& parts, std::byte* begin) {
  std::size_t filled = 0;
  parts.for_each(begin, [&](const std::byte* part, std::size_t bytes, std::uint8_t byte) {
    if (byte != kByte) return;
    CHECK(std::count(part, part + bytes, std::byte{kByte}) == static_cast<std::ptrdiff_t>(bytes));
    filled += bytes;
  });
  return filled;
}

/// Bytes that are not what a part is to consist of.
std::size_t changed_bytes(const FilledParts& parts, std::byte* begin) {
  std::size_t changed = 0;
  parts.for_each(begin, [&](const std::byte* part, std::size_t bytes, std::uint8_t byte) {
    changed += bytes - static_cast<std::size_t>(std::count(part, part + bytes, std::byte{byte}));
  });
  return changed;
}

}  // namespace

TEST_CASE("a small block is filled as a whole") {
  const UntouchedMemory memory(kBytes);
  FilledParts parts;
  CHECK(filled_bytes(parts, memory.begin()) == 0);
  parts.fill(memory.begin() + 16, 5000, kByte);
  CHECK(filled_bytes(parts, memory.begin() + 16) == 5000);
  CHECK(memory.begin()[15] == std::byte{0});
  CHECK(memory.begin()[16 + 5000] == std::byte{0});
  parts.release();
  CHECK(filled_bytes(parts, memory.begin() + 16) == 0);
}

TEST_CASE(
    "a large block is filled where it was touched, and what is touched later is not taken for it") {
  const UntouchedMemory memory(kBytes);
  std::byte* const begin = memory.begin() + 48;
  const std::size_t bytes = kBytes - 100;
  for (const std::size_t offset : {0U, 500'000U, 1'000'000U}) std::memset(begin + offset, 1, 9000);
  std::memset(begin + bytes - 1, 1, 1);
  FilledParts parts;
  const std::ptrdiff_t grown =
      alloctap::testing::resident_growth([&] { parts.fill(begin, bytes, kByte); });
  const std::size_t filled = filled_bytes(parts, begin);
  CHECK(changed_bytes(parts, begin) == 0);
  std::memset(begin + 700'000, 0, tells_untouched() ? 9000 : 0);
  CHECK(changed_bytes(parts, begin) == 0);
  std::memset(begin + 702'000, 2, 70);
  std::memset(begin + 500'000, 0, 7000);
  CHECK(changed_bytes(parts, begin) == 70 + 7000);
  CHECK(filled >= 3 * 9000 + 1);
  CHECK((filled < 100'000 || !tells_untouched()));
  CHECK((grown < 500'000 || !tells_untouched()));
  CHECK(begin[bytes] == std::byte{0});
  parts.release();
}

TEST_CASE("a large block that was touched all over is filled all over") {
  const UntouchedMemory memory(kBytes);
  std::memset(memory.begin(), 1, kBytes);
  FilledParts parts;
  parts.fill(memory.begin() + 32, kBytes - 64, kByte);
  CHECK(filled_bytes(parts, memory.begin() + 32) == kBytes - 64);
  CHECK(memory.begin()[31] == std::byte{1});
  CHECK(memory.begin()[kBytes - 32] == std::byte{1});
  parts.release();
}

TEST_CASE("without memory to remember them no parts are filled") {
  const UntouchedMemory memory(kBytes);
  const alloctap::testing::StarvedArena starved;
  FilledParts parts;
  parts.fill(memory.begin(), kBytes, kByte);
  CHECK(filled_bytes(parts, memory.begin()) == 0);
  CHECK(memory.begin()[0] == std::byte{0});
}
