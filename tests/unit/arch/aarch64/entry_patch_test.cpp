#include "alloctap/arch/aarch64/entry_patch.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace {

using namespace alloctap::arch;
using namespace alloctap::arch::aarch64;
using alloctap::arch::aarch64::EntryPatch;

constexpr std::uint32_t kNop = 0xD503201F;
constexpr std::uint32_t kReturn = 0xD65F03C0;
constexpr std::uint32_t kSigning = 0xD503233F;  // paciasp

/// A function in memory that nobody runs, and an island that will stand 1 MiB below.
struct Patched {
  explicit Patched(std::vector<std::uint32_t> code) : words(std::move(code)) {
    patch = EntryPatch::analyze({address(), std::as_bytes(std::span(words)), {}});
    refusal = patch.write_island(island, place(), place() + 0x2000);
  }
  [[nodiscard]] std::uintptr_t address() const {
    return reinterpret_cast<std::uintptr_t>(words.data());
  }
  [[nodiscard]] std::uintptr_t place() const {
    return (address() & ~std::uintptr_t{15}) - 0x100000;
  }
  [[nodiscard]] std::uint32_t word(std::size_t index) const {
    std::uint32_t word = 0;
    std::memcpy(&word, island.data() + index * 4, sizeof word);
    return word;
  }

  std::vector<std::uint32_t> words;
  EntryPatch patch;
  alignas(16) std::array<std::byte, EntryPatch::kIslandBytes> island{};
  PatchRefusal refusal = PatchRefusal::kNone;
};

}  // namespace

TEST_CASE("one word of the function changes, into a branch to the island, and back") {
  Patched function({kNop, kNop, kReturn});
  REQUIRE(function.refusal == PatchRefusal::kNone);
  const auto before = function.words;
  CHECK(function.patch.end() - function.patch.start() == 4);
  CHECK(function.patch.is_in_state(false));
  CHECK_FALSE(function.patch.is_in_state(true));
  int synchronized = 0;
  const auto synchronize = [&] {
    ++synchronized;
    const auto now = decode_instruction(function.words[0], function.address());
    CHECK((now.form == Form::kJump || now.word == kNop));
  };
  function.patch.store(true, synchronize);
  CHECK(decode_instruction(function.words[0], function.address()).target == function.place());
  CHECK(function.words[1] == before[1]);
  CHECK(function.patch.is_in_state(true));
  function.patch.store(false, synchronize);
  CHECK((function.words == before));
  CHECK(synchronized == 2);
}

TEST_CASE("the stub jumps through the word, with the return address as the caller left it") {
  const Patched plain({kNop, kReturn});
  // ldr x17, .+0x2000; br x17
  CHECK(plain.word(0) == 0x58010011);
  CHECK(plain.word(1) == 0xD61F0220);
  CHECK(plain.patch.trampoline() == plain.place() + 16);
  const Patched signing({kSigning, kReturn});
  // autiasp; ldr x17, .+0x1FFC; br x17
  CHECK(signing.word(0) == 0xD50323BF);
  CHECK(signing.word(1) == 0x5800FFF1);
  CHECK(signing.word(2) == 0xD61F0220);
  CHECK(signing.word(5) == kSigning);
  CHECK(signing.patch.start() == signing.address() + 4);
  const Patched second_key({0xD503237F, kReturn});
  CHECK(second_key.word(0) == 0xD50323FF);
}

TEST_CASE("patches are the same if they move the same instruction from the same place") {
  Patched function({kNop, kNop, kReturn});
  const auto bytes = std::as_bytes(std::span(function.words));
  CHECK(function.patch.displaces_same(EntryPatch::analyze({function.address(), bytes, {}})));
  CHECK_FALSE(function.patch.displaces_same(
      EntryPatch::analyze({function.address() + 4, bytes.subspan(4), {}})));
  function.words[0] = kReturn;
  CHECK_FALSE(function.patch.displaces_same(EntryPatch::analyze({function.address(), bytes, {}})));
  // The same word at the same place, behind what signs.
  Patched second({kSigning, kReturn});
  const auto signing = std::as_bytes(std::span(second.words));
  CHECK_FALSE(second.patch.displaces_same(
      EntryPatch::analyze({second.address() + 4, signing.subspan(4), {}})));
}

TEST_CASE("a word out of the stub's reach is refused") {
  Patched function({kNop, kReturn});
  const std::uintptr_t place = function.place();
  CHECK(function.patch.write_island(function.island, place, place + (1 << 20)) ==
        PatchRefusal::kOperandOutOfReach);
  CHECK(function.patch.write_island(function.island, place - (std::uintptr_t{1} << 28), place) ==
        PatchRefusal::kOperandOutOfReach);
}
