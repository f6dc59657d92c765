// Targets that begin with a landing pad, which may sign the return address. Each returns x + 7.
#include "tests/contract/function_patch/target_macros.hpp"
#include "tests/contract/function_patch/targets.hpp"

__asm__(R"(
  .arch armv8.5-a
  .pushsection .text
  .balign 16
seven_near: .quad 7
helper_near:
  add w0, w0, #7
  ret

  begin landing_pad
  bti c
  ldr x2, seven_near
  add x0, x0, x2
  ret
  end landing_pad

  begin landing_pad_one_instruction
  bti c
  add w0, w0, #7
  ret
  end landing_pad_one_instruction

  begin landing_pad_for_all
  bti jc
  adr x2, seven_near
  ldr w2, [x2]
  add w0, w0, w2
  ret
  end landing_pad_for_all

  begin landing_pad_and_signing
  bti c
  paciasp
  add w0, w0, #7
  autiasp
  ret
  end landing_pad_and_signing

  begin signing
  paciasp
  stp x29, x30, [sp, #-16]!
  bl helper_near
  ldp x29, x30, [sp], #16
  autiasp
  ret
  end signing

  begin signing_by_second_key
  pacibsp
  stp x29, x30, [sp, #-16]!
  bl helper_near
  ldp x29, x30, [sp], #16
  autibsp
  ret
  end signing_by_second_key

  begin signing_then_authenticating
  paciasp
  autiasp
  add w0, w0, #7
  ret
  end signing_then_authenticating

  begin signing_then_load
  paciasp
  ldr w2, seven_near
  add w0, w0, w2
  autiasp
  ret
  end signing_then_load

  begin signing_then_jump_if_zero
  paciasp
  cbz w0, 1f
  mov w9, #7
  cmp w0, #0
  csel w9, wzr, w9, eq
  add w0, w0, w9
  autiasp
  ret
1:
  mov w0, #7
  autiasp
  ret
  end signing_then_jump_if_zero

  begin signing_then_call
  paciasp
  bl helper_near
  ret x19
  end signing_then_call

  .purgem begin
  .purgem end
  .popsection
)");
