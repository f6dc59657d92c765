#include <doctest/doctest.h>

#include <array>
#include <cstddef>

#include "alloctap/arch/x86_64/entry_patch.hpp"

namespace {

using namespace alloctap::arch::x86_64;

constexpr std::uintptr_t kAddress = 0x401000;

template <class... Bytes>
auto destination(Bytes... bytes) {
  const std::array code{static_cast<std::byte>(bytes)...};
  return thunk_destination(code, kAddress);
}

}  // namespace

TEST_CASE("a jump to a place or through a word is followed, behind a landing pad too") {
  CHECK(destination(0xE9, 0x10, 0, 0, 0)->address == kAddress + 0x15);
  CHECK(destination(0xEB, 0x10)->address == kAddress + 0x12);
  CHECK(destination(0xF3, 0x0F, 0x1E, 0xFA, 0xE9, 0x10, 0, 0, 0)->address == kAddress + 0x19);
  CHECK(destination(0xFF, 0x25, 0x10, 0, 0, 0)->pointer == kAddress + 0x16);
  CHECK(destination(0xF3, 0x0F, 0x1E, 0xFA, 0xF2, 0xFF, 0x25, 0x10, 0, 0, 0)->pointer ==
        kAddress + 0x1B);
}

TEST_CASE("what does more than jump is no thunk") {
  CHECK_FALSE(destination(0xC3));
  CHECK_FALSE(destination(0x90, 0xEB, 0x10));
  CHECK_FALSE(destination(0xFF, 0xE0));
  CHECK_FALSE(destination(0xE8, 0x10, 0, 0, 0));
  CHECK_FALSE(destination(0x74, 0x10));
  CHECK_FALSE(destination(0x06));
}
