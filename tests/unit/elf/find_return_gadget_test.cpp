#include "alloctap/elf/find_return_gadget.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "alloctap/elf/find_row.hpp"
#include "tests/unit/elf/unwind_bytes.hpp"

namespace {

using namespace alloctap::elf;
using alloctap::arch::DwarfRegisters;
using alloctap::arch::kReturnGadgets;
using alloctap::arch::ReturnGadget;
using alloctap::testing::GuardedBytes;
using alloctap::testing::raw;

std::uintptr_t address_of(void (*function)()) { return reinterpret_cast<std::uintptr_t>(function); }

bool starts_with_gadget(std::uintptr_t address) {
  for (const ReturnGadget& gadget : kReturnGadgets) {
    if (std::memcmp(reinterpret_cast<const void*>(address), gadget.code.data(),
                    gadget.code.size()) == 0) {
      return true;
    }
  }
  return false;
}

void some_function() {}

}  // namespace

TEST_CASE("a gadget is found in the module that holds an address, and its row is one of those") {
  const auto qsort = reinterpret_cast<std::uintptr_t>(&std::qsort);
  for (const std::uintptr_t pc : {address_of(&some_function) + 1, qsort + 1}) {
    const std::uintptr_t gadget = find_return_gadget(pc);
    REQUIRE(gadget != 0);
    CHECK(alloctap::os::find_module(gadget).start == alloctap::os::find_module(pc).start);
    CHECK(starts_with_gadget(gadget));
    CallFrameRow row;
    REQUIRE(find_unwind_tables(gadget - 1).has_value());
    RowSearch search;
    REQUIRE(find_row(*find_unwind_tables(gadget - 1), gadget - 1, row, search) ==
            UnwindStatus::kFound);
    bool fits = false;
    for (const ReturnGadget& form : kReturnGadgets) fits = fits || describes_gadget(row, form);
    CHECK(fits);
    // Not through a function that is asked when an exception passes.
    const auto found = find_frame_description(*find_unwind_tables(gadget - 1), gadget - 1);
    CHECK_FALSE(found.description.common.has_personality);
  }
}

TEST_CASE("code that nobody loaded from a file has none") {
  int local = 0;
  CHECK(find_return_gadget(reinterpret_cast<std::uintptr_t>(&local)) == 0);
  CHECK(find_return_gadget(std::uintptr_t{0}) == 0);
}

namespace {

/// As compilers begin: on x86-64 with CFA = rsp + 8, the return address below it, elsewhere with
/// CFA = sp. That row goes on to the end of the function unless `instructions` say otherwise.
#if defined(__x86_64__)
const std::vector<std::byte> kCall = raw({0x0C, 7, 8, 0x90, 1});
constexpr unsigned kCodeAlignment = 1;
#else
const std::vector<std::byte> kCall = raw({0x0C, 31, 0});
constexpr unsigned kCodeAlignment = 4;
#endif

/// Where in the function of these bytes the gadget is; -1 where there is none.
std::ptrdiff_t gadget_in(const std::vector<std::byte>& bytes,
                         const std::vector<std::byte>& instructions = {},
                         bool has_personality = false, ElfW(Word) rights = PF_R | PF_X) {
  const GuardedBytes code(bytes);
  FrameDescription function;
  function.begin = code.address();
  function.end = code.address() + bytes.size();
  function.common.instructions = kCall;
  function.common.code_alignment = kCodeAlignment;
  function.common.data_alignment = -8;
  function.common.return_address_register = DwarfRegisters::kReturnAddress;
  function.common.has_personality = has_personality;
  function.instructions = instructions;
  const ElfW(Phdr) segment{.p_type = PT_LOAD,
                           .p_flags = rights,
                           .p_offset = 0,
                           .p_vaddr = code.address(),
                           .p_paddr = 0,
                           .p_filesz = bytes.size(),
                           .p_memsz = bytes.size(),
                           .p_align = 1};
  const std::uintptr_t gadget = find_return_gadget_in(LoadedMemory(0, {&segment, 1}), function);
  return gadget == 0 ? -1 : static_cast<std::ptrdiff_t>(gadget - function.begin);
}

}  // namespace

#if defined(__x86_64__)

TEST_CASE("a return of a function that pushes nothing, in the middle of an instruction or not") {
  CHECK(gadget_in(raw({0x31, 0xC0, 0xC3})) == 2);
  CHECK(gadget_in(raw({0x48, 0x89, 0xC3, 0x90})) == 2);
  CHECK(gadget_in(raw({0x31, 0xC0, 0x90})) == -1);
}

TEST_CASE("an unwinder looks at the byte before: it must belong to the function and to the row") {
  CHECK(gadget_in(raw({0xC3, 0x90})) == -1);
  CHECK(gadget_in(raw({0xC3, 0xC3})) == 1);
  // push %rsi; pop %rsi; ret, with CFA = rsp + 16 between the two: the return's row begins with it.
  const auto rows = raw({0x41, 0x0E, 16, 0x41, 0x0E, 8});
  CHECK(gadget_in(raw({0x56, 0x5E, 0xC3}), rows) == -1);
  CHECK(gadget_in(raw({0x56, 0x5E, 0x90, 0xC3}), rows) == 3);
}

TEST_CASE("an epilogue whose frame is one word, with the register that it restores") {
  // From the second byte on CFA = rsp + 16; from `end` on rsp + 8.
  const auto rows = [](unsigned end, std::initializer_list<unsigned> saved) {
    auto bytes = raw({0x41, 0x0E, 16});
    const auto rule = raw(saved);
    bytes.insert(bytes.end(), rule.begin(), rule.end());
    const auto rest = raw({0x40 + end - 1, 0x0E, 8});
    bytes.insert(bytes.end(), rest.begin(), rest.end());
    return bytes;
  };
  const auto pop_rbx = raw({0x53, 0x90, 0x5B, 0xC3});
  CHECK(gadget_in(pop_rbx, rows(3, {0x83, 2})) == 2);
  CHECK(gadget_in(pop_rbx, rows(3, {0x83, 1})) == -1);
  CHECK(gadget_in(pop_rbx, rows(3, {0x8C, 2})) == -1);
  CHECK(gadget_in(pop_rbx, rows(3, {})) == -1);
  const auto pop_rbp = raw({0x55, 0x90, 0x5D, 0xC3});
  CHECK(gadget_in(pop_rbp, rows(3, {0x86, 2})) == 2);
  const auto add_8 = raw({0x50, 0x90, 0x48, 0x83, 0xC4, 0x08, 0xC3});
  CHECK(gadget_in(add_8, rows(6, {})) == 2);
  CHECK(gadget_in(add_8, rows(6, {0x83, 2})) == -1);
  CHECK(gadget_in(raw({0x50, 0x90, 0x59, 0xC3}), rows(3, {})) == 2);
  // The result would be lost.
  CHECK(gadget_in(raw({0x50, 0x90, 0x58, 0xC3}), rows(3, {})) == -1);
}

TEST_CASE("an epilogue with a frame pointer") {
  // From the second byte on CFA = rbp + 16, rbp at CFA - 16; from the fourth on rsp + 8.
  const auto rows = raw({0x41, 0x0C, 6, 16, 0x86, 2, 0x42, 0x0C, 7, 8});
  CHECK(gadget_in(raw({0x55, 0x90, 0xC9, 0xC3}), rows) == 2);
  CHECK(gadget_in(raw({0x55, 0x90, 0x5D, 0xC3}), rows) == 2);
  CHECK(gadget_in(raw({0x55, 0x90, 0x5B, 0xC3}), rows) == -1);
}

TEST_CASE("where another register would be restored from elsewhere there is no gadget") {
  const auto code = raw({0x31, 0xC0, 0xC3});
  // rbx, r12, a vector register; the return address in a register.
  CHECK(gadget_in(code, raw({0x83, 2})) == -1);
  CHECK(gadget_in(code, raw({0x8C, 2})) == -1);
  CHECK(gadget_in(code, raw({0x05, 40, 2})) == -1);
  CHECK(gadget_in(code, raw({0x09, 16, 0})) == -1);
  CHECK(gadget_in(code, raw({0x08, 3})) == 2);
}

TEST_CASE("functions that look at exceptions, and code that may not be read, are left alone") {
  const auto code = raw({0x31, 0xC0, 0xC3});
  CHECK(gadget_in(code, {}, true) == -1);
  CHECK(gadget_in(code, {}, false, PF_X) == -1);
  CHECK(gadget_in(code, {}, false, PF_R) == -1);
}

#elif defined(__aarch64__)

namespace {

/// nop; ldp x29, x30, [sp], #bytes; ret, of which no instruction is aligned if `shift` is 1.
std::vector<std::byte> epilogue(unsigned bytes, unsigned shift = 0) {
  std::vector<std::byte> code(shift);
  for (const std::uint32_t word : {0xD503201FU, 0xA8C07BFDU | bytes / 8 << 15, 0xD65F03C0U}) {
    for (unsigned i = 0; i < 4; ++i) code.push_back(static_cast<std::byte>(word >> 8 * i));
  }
  code.resize(16);
  return code;
}

/// CFA = sp + bytes with x29 at the bottom and x30 above it, then `more`.
std::vector<std::byte> frame(unsigned bytes, std::initializer_list<unsigned> more = {}) {
  auto rows = raw({0x0E, bytes, 0x9D, bytes / 8, 0x9E, bytes / 8 - 1});
  const auto rest = raw(more);
  rows.insert(rows.end(), rest.begin(), rest.end());
  return rows;
}

}  // namespace

TEST_CASE("an epilogue that restores the frame record, of three sizes") {
  for (const unsigned bytes : {16U, 32U, 48U}) {
    CHECK(gadget_in(epilogue(bytes), frame(bytes)) == 4);
    CHECK(gadget_in(epilogue(bytes), frame(bytes + 16)) == -1);
    CHECK(gadget_in(epilogue(bytes), frame(bytes, {0x0D, 29})) == 4);
    CHECK(gadget_in(epilogue(bytes, 1), frame(bytes)) == -1);
  }
  CHECK(gadget_in(epilogue(64), frame(64)) == -1);
  CHECK(gadget_in(epilogue(16)) == -1);
  CHECK(gadget_in(epilogue(16), frame(16), true) == -1);
  CHECK(gadget_in(epilogue(16), frame(16), false, PF_X) == -1);
}

TEST_CASE("other registers may be saved at their usual places in the frame, and nowhere else") {
  CHECK(gadget_in(epilogue(32), frame(32, {0x93, 2})) == 4);
  CHECK(gadget_in(epilogue(32), frame(32, {0x93, 2, 0x94, 1})) == 4);
  CHECK(gadget_in(epilogue(32), frame(32, {0x93, 1})) == -1);
  CHECK(gadget_in(epilogue(32), frame(32, {0x95, 1})) == -1);
  CHECK(gadget_in(epilogue(16), frame(16, {0x93, 2})) == -1);
  CHECK(gadget_in(epilogue(48), frame(48, {0x93, 4, 0x94, 3, 0x95, 2, 0x96, 1})) == 4);
  // A vector register, and a return address with a signature.
  CHECK(gadget_in(epilogue(32), frame(32, {0x05, 72, 2})) == -1);
  CHECK(gadget_in(epilogue(32), frame(32, {0x2D})) == -1);
}

#endif
