#include "alloctap/arch/x86_64/text_store.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using namespace alloctap::arch::x86_64;

/// The entry of a function in memory that nobody runs, at `offset` from an aligned address.
struct Entry {
  explicit Entry(std::size_t offset) {
    text.start = reinterpret_cast<std::uintptr_t>(memory.data()) + offset;
    text.original = {std::byte{0x50}, std::byte{0x51}, std::byte{0x52}, std::byte{0x53},
                     std::byte{0x54}};
    text.patched = {std::byte{0xE9}, std::byte{0xCC}, std::byte{1}, std::byte{0x06}, std::byte{2}};
    // push; two bytes; two bytes.
    text.begins = {true, true, false, true, false};
    std::memcpy(memory.data() + offset, text.original.data(), kPatchBytes);
  }
  [[nodiscard]] PatchBytes now() const {
    PatchBytes bytes;
    std::memcpy(bytes.data(), reinterpret_cast<const void*>(text.start), bytes.size());
    return bytes;
  }
  alignas(16) std::array<std::byte, 32> memory{};
  PatchedText text;
};

/// The states at every synchronization.
std::vector<PatchBytes> states(const Entry& entry, bool patched) {
  std::vector<PatchBytes> seen;
  store_text(entry.text, patched, [&] { seen.push_back(entry.now()); });
  return seen;
}

/// Whether a thread that begins an instruction anywhere finds a whole old or new one, or a trap.
bool is_safe(const Entry& entry, const PatchBytes& state) {
  const auto matches = [&](std::size_t from, std::size_t to, const PatchBytes& bytes) {
    return std::equal(state.begin() + from, state.begin() + to, bytes.begin() + from);
  };
  const auto traps = [&](std::size_t at) {
    return state[at] == std::byte{0xCC} || state[at] == entry.text.patched[at];
  };
  const auto& original = entry.text.original;
  const bool first = state[0] == std::byte{0xCC} || matches(0, 1, original) ||
                     matches(0, kPatchBytes, entry.text.patched);
  return first && (traps(1) || matches(1, 3, original)) && (traps(3) || matches(3, 5, original));
}

}  // namespace

TEST_CASE("within an aligned word there is one store and nothing between") {
  for (const std::size_t offset : {0U, 1U, 3U, 8U, 11U}) {
    Entry entry(offset);
    const auto before = entry.memory;
    CHECK(entry.text.fits_one_store());
    CHECK(states(entry, true).empty());
    CHECK(entry.now() == entry.text.patched);
    CHECK(states(entry, false).empty());
    CHECK(entry.memory == before);
  }
}

TEST_CASE("across two words no thread meets half an instruction") {
  for (const std::size_t offset : {4U, 5U, 6U, 7U, 12U}) {
    Entry entry(offset);
    const auto before = entry.memory;
    CHECK_FALSE(entry.text.fits_one_store());
    for (const bool patched : {true, false}) {
      const auto seen = states(entry, patched);
      REQUIRE(seen.size() == 3);
      for (const PatchBytes& state : seen) CHECK(is_safe(entry, state));
      CHECK(seen[0][0] == kBreakpointByte);
      CHECK(seen[1][0] == kBreakpointByte);
      CHECK(seen[2] == (patched ? entry.text.patched : entry.text.original));
    }
    CHECK(entry.memory == before);
  }
}

TEST_CASE("places where instructions began trap before anything else changes, and after") {
  Entry entry(6);
  const auto forth = states(entry, true);
  CHECK(forth[0] == PatchBytes{std::byte{0xCC}, std::byte{0xCC}, std::byte{0x52}, std::byte{0x06},
                               std::byte{0x54}});
  const auto back = states(entry, false);
  CHECK(back[1] == PatchBytes{std::byte{0xCC}, std::byte{0xCC}, std::byte{0x52}, std::byte{0x06},
                              std::byte{0x54}});
}
