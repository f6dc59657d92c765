// The fuzz target without a fuzzer: the same inputs in every run, under whatever sanitizer the
// build has.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "alloctap/elf/find_row.hpp"
#include "alloctap/elf/unwind_tables.hpp"
#include "tests/unit/elf/unwind_bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace alloctap::elf;
using namespace alloctap::testing;

using Input = std::vector<std::uint8_t>;
using Random = std::mt19937_64;

constexpr std::size_t kInputs = 60'000;

void run(const Input& input) { LLVMFuzzerTestOneInput(input.data(), input.size()); }

Input random_input(Random& random) {
  Input input(random() % 300);
  for (auto& byte : input) byte = static_cast<std::uint8_t>(random());
  return input;
}

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

/// The instructions of the C library's functions, as far as they are interesting.
std::vector<std::vector<std::byte>> real_instructions() {
  constexpr std::size_t kEnough = 2000;
  std::vector<std::vector<std::byte>> found;
  const auto tables = find_unwind_tables(reinterpret_cast<std::uintptr_t>(&std::qsort));
  REQUIRE(tables.has_value());
  visit_frame_entries(*tables, SIZE_MAX, [&](std::uintptr_t, const FrameEntry& entry) {
    const auto description = decode_frame_description(*tables, entry);
    if (description && description->instructions.size() > 8) {
      found.push_back(copy_of(description->instructions));
    }
    return found.size() < kEnough;
  });
  REQUIRE(found.size() > 100);
  return found;
}

/// Tables of a few real functions: the bytes of a whole input.
Input real_tables(const std::vector<std::vector<std::byte>>& instructions, Random& random) {
  EhFrameWriter writer;
  std::size_t begin = 0;
  for (std::size_t cies = 0; cies < 2; ++cies) {
    const auto cie = writer.add_cie({.augmentation = cies == 0 ? "zR" : "zRS"});
    for (std::size_t fdes = 0; fdes < 3; ++fdes, begin += 500) {
      writer.add_fde(cie, begin, 500, instructions[random() % instructions.size()]);
    }
  }
  const auto header = writer.header();
  Input input = {3, static_cast<std::uint8_t>(header), static_cast<std::uint8_t>(header >> 8)};
  for (const std::byte byte : writer.finish(random() % 4 != 0)) {
    input.push_back(static_cast<std::uint8_t>(byte));
  }
  return input;
}

/// Changes one to four places.
Input mutated(Input input, Random& random) {
  constexpr std::uint8_t kSpecial[] = {0x00, 0x01, 0x7F, 0x80, 0xFF, 0x0A, 0x0B, 0x0F, 0x10};
  for (std::size_t changes = 1 + random() % 4; changes > 0; --changes) {
    const auto place = static_cast<std::ptrdiff_t>(3 + random() % (input.size() - 3));
    const auto at = input.begin() + place;
    switch (random() % 6) {
      case 0:
        *at = static_cast<std::uint8_t>(random());
        break;
      case 1:
        *at = kSpecial[random() % std::size(kSpecial)];
        break;
      case 2:
        *at ^= static_cast<std::uint8_t>(1U << random() % 8);
        break;
      case 3:
        std::fill(at, std::min(at + 4, input.end()), kSpecial[random() % std::size(kSpecial)]);
        break;
      case 4:
        if (input.size() > 40) input.erase(at);
        break;
      default:
        input.insert(at, static_cast<std::uint8_t>(random()));
    }
  }
  if (random() % 8 == 0) input.resize(4 + random() % (input.size() - 3));
  return input;
}

}  // namespace

TEST_CASE("random bytes lead to no access outside and to no endless loop") {
  Random random(20261121);
  for (std::size_t i = 0; i < kInputs; ++i) run(random_input(random));
}

TEST_CASE("real tables that were changed in a few places lead to none either") {
  Random random(3);
  const auto instructions = real_instructions();
  for (std::size_t i = 0; i < kInputs; ++i) {
    const Input input = real_tables(instructions, random);
    if (i % 64 == 0) run(input);
    run(mutated(input, random));
  }
}
