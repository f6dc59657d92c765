// 23: what stub and trampoline leave alone: all registers but x16 and x17, the flags, the stack.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/hook/inline/function_patch.hpp"
#include "tests/contract/function_patch/target_macros.hpp"

/// What target_store_registers finds.
struct MachineState {
  std::array<std::uint64_t, 31> x{};
  std::uint64_t stack_pointer = 0;
  std::uint64_t flags = 0;
  std::uint64_t padding = 0;
  std::array<std::uint64_t, 64> vectors{};
};

extern "C" {
/// Fills all registers with numbers of their own, and calls `function` with x28 pointing to
/// `state`, and data behind it.
void target_fill_registers(MachineState* state, const void* function);
/// Each stores all registers to where x28 points to. They begin with a load into x2, the second
/// behind paciasp.
void target_store_registers();
extern const std::byte target_store_registers_end[];
void target_store_registers_signing();
extern const std::byte target_store_registers_signing_end[];
/// Jumps to `registers_original`, and changes nothing but x16.
void target_forward_registers();
__attribute__((visibility("hidden"))) extern const void* registers_original;
}
const void* registers_original = nullptr;

__asm__(R"(
  .arch armv8.5-a
  .pushsection .text
  .balign 16
number_to_load: .quad 0x1234

  begin fill_registers
  stp x29, x30, [sp, #-160]!
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x28, x0
  mov x16, x1
  .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
  mov x0, #(\n + 1000)
  mov v\n\().d[0], x0
  mov x0, #(\n + 2000)
  mov v\n\().d[1], x0
  .endr
  .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,19,20,21,22,23,24,25,26,27,29
  mov x\n, #(\n + 100)
  .endr
  cmp x0, x0
  blr x16
  ldp x19, x20, [sp, #16]
  ldp x21, x22, [sp, #32]
  ldp x23, x24, [sp, #48]
  ldp x25, x26, [sp, #64]
  ldp x27, x28, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x29, x30, [sp], #160
  ret
  end fill_registers

  .macro store_registers
  .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,18,19,20,21,22,23,24,25,26,27,28,29,30
  str x\n, [x28, #(8 * \n)]
  .endr
  mov x0, sp
  mrs x1, nzcv
  stp x0, x1, [x28, #248]
  add x0, x28, #272
  .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
  str q\n, [x0], #16
  .endr
  .endm

  begin store_registers
  ldr x2, number_to_load
  store_registers
  ret
  end store_registers

  begin store_registers_signing
  paciasp
  ldr x2, number_to_load
  store_registers
  autiasp
  ret
  end store_registers_signing

  begin forward_registers
  adrp x16, registers_original
  ldr x16, [x16, #:lo12:registers_original]
  br x16
  end forward_registers

  .purgem store_registers
  .purgem begin
  .purgem end
  .popsection
)");

namespace {

using alloctap::FunctionPatch;

MachineState state_in(void (*function)()) {
  MachineState state;
  target_fill_registers(&state, reinterpret_cast<const void*>(function));
  return state;
}

bool is_same(const MachineState& one, const MachineState& other) {
  bool same = one.flags == other.flags && one.vectors == other.vectors;
  for (std::size_t i = 0; i < one.x.size(); ++i) {
    // x28 is where the state is.
    same &= i == 28 || one.x[i] == other.x[i];
  }
  return same && one.stack_pointer == other.stack_pointer;
}

/// Before, through the replacement, and after.
void check_registers(void (*function)(), const std::byte* end) {
  const MachineState before = state_in(function);
  CHECK(before.x[2] == 0x1234);
  CHECK(before.x[15] == 115);
  CHECK(before.vectors[63] == 2031);
  const auto* start = reinterpret_cast<const std::byte*>(function);
  auto patch =
      FunctionPatch::prepare({.address = start, .bytes = static_cast<std::size_t>(end - start)},
                             reinterpret_cast<const void*>(&target_forward_registers));
  REQUIRE(patch.ok());
  registers_original = reinterpret_cast<const void*>(patch->original(function));
  REQUIRE(patch->enable().ok());
  CHECK(is_same(state_in(function), before));
  REQUIRE(patch->disable().ok());
  CHECK(is_same(state_in(function), before));
}

}  // namespace

TEST_CASE("registers, flags and the stack arrive in the original as they were") {
  check_registers(&target_store_registers, target_store_registers_end);
  check_registers(&target_store_registers_signing, target_store_registers_signing_end);
}
