#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "alloctap/arch/aarch64/entry_patch.hpp"

namespace {

using namespace alloctap::arch;
using namespace alloctap::arch::aarch64;
using alloctap::arch::aarch64::is_binding_stub;
using alloctap::arch::aarch64::thunk_destination;

constexpr std::uintptr_t kAddress = 0x401008;
constexpr std::uint32_t kPad = 0xD503245F;             // bti c
constexpr std::uint32_t kPage = 0xB0000010;            // adrp x16, 1 page on
constexpr std::uint32_t kLoad = 0xF9400E11;            // ldr x17, [x16, #24]
constexpr std::uint32_t kAdd = 0x91006210;             // add x16, x16, #24
constexpr std::uint32_t kAuthentication = 0xD503219F;  // autia1716
constexpr std::uint32_t kJump16 = 0xD61F0200;          // br x16
constexpr std::uint32_t kJump17 = 0xD61F0220;          // br x17

auto destination(const std::vector<std::uint32_t>& words) {
  return thunk_destination(std::as_bytes(std::span(words)), kAddress);
}

}  // namespace

TEST_CASE("a branch, a far jump and the entries of a procedure linkage table are followed") {
  CHECK(destination({0x14000400})->address == kAddress + 0x1000);
  CHECK(destination({kPad, 0x14000400})->address == kAddress + 0x1004);
  constexpr std::uintptr_t kWord = 0x402018;
  CHECK(destination({kPage, kLoad, kAdd, kJump17})->pointer == kWord);
  CHECK(destination({kPad, kPage, kLoad, kAdd, kJump17})->pointer == kWord);
  CHECK(destination({kPage, kLoad, kAdd, kAuthentication, kJump17})->pointer == kWord);
  CHECK(destination({kPad, kPage, kLoad, kAdd, kAuthentication, kJump17})->pointer == kWord);
  // ldr x16, [x16, #24]
  CHECK(destination({kPage, 0xF9400E10, kJump16})->pointer == kWord);
  CHECK(destination({kPage, kAdd, kJump16})->address == kWord);
  // ldr x17, .+8; br x17
  CHECK(destination({0x58000051, kJump17})->pointer == kAddress + 8);
}

TEST_CASE("what does more than jump, on A64, is no thunk") {
  CHECK_FALSE(destination({}));
  CHECK_FALSE(destination({kPad}));
  CHECK_FALSE(destination({0xD65F03C0}));
  CHECK_FALSE(destination({kPage, kLoad, kAdd, kJump16}));
  CHECK_FALSE(destination({kPage, kLoad, kAdd}));
  CHECK_FALSE(destination({kPage, kAdd, kAdd, kJump16}));
  CHECK_FALSE(destination({kPage, 0xD503201F, kJump16}));
  // ldr x16, [x16, #24]: what is added to is no base.
  CHECK_FALSE(destination({kPage, 0xF9400E10, kAdd, kJump16}));
  CHECK_FALSE(destination({0x94000400}));
  CHECK_FALSE(destination({0x58000051, kJump16}));
  // adrp x2: another base.
  CHECK_FALSE(destination({0xB0000002, kLoad, kAdd, kJump17}));
}

TEST_CASE("what binds a function of A64 on its first call is known") {
  const std::vector<std::uint32_t> stub{kPad, 0xA9BF7BF0};
  const auto code = std::as_bytes(std::span(stub));
  CHECK(is_binding_stub(code));
  CHECK(is_binding_stub(code.subspan(4)));
  CHECK_FALSE(is_binding_stub(code.first(4)));
  CHECK_FALSE(is_binding_stub({}));
}
