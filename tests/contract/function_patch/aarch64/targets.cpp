// The targets of targets.hpp. Each returns x + 7, but for those that say otherwise.
#include "tests/contract/function_patch/targets.hpp"

#include "tests/contract/function_patch/target_macros.hpp"

__asm__(R"(
  .arch armv8.5-a
  .pushsection .data
  .balign 8
seven: .word 7
  .popsection

  .pushsection .text
  .balign 16
seven_here: .quad 7
minus_seven_here: .quad -7
seven_above_here: .quad 1, 7

  .balign 4
helper:
  add w0, w0, #7
  ret

  .globl call_target
  .hidden call_target
  .type call_target, @function
call_target:
  .cfi_startproc
  stp x29, x30, [sp, #-32]!
  .cfi_adjust_cfa_offset 32
  .cfi_rel_offset x29, 0
  .cfi_rel_offset x30, 8
  str x19, [sp, #16]
  .cfi_rel_offset x19, 16
  adr x19, 1f
  mov x3, x0
  mov w0, w1
  mov x1, x2
  cmp w0, #0
  blr x3
1:
  ldr x19, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_adjust_cfa_offset -32
  .cfi_restore x19
  .cfi_restore x29
  .cfi_restore x30
  ret
  .cfi_endproc
  .size call_target, . - call_target

  begin jump
  b 1f
  brk #1
1:
  add w0, w0, #7
  ret
  end jump

// Each side is right for the numbers that must come to it alone.
  .macro sides_of_sign, when_negative, when_not
\when_not:
  and w0, w0, #0x7FFFFFFF
  add w0, w0, #7
  ret
\when_negative:
  orr w0, w0, #0x80000000
  add w0, w0, #7
  ret
  .endm
  .macro sides_of_zero, when_zero, when_not
\when_not:
  cmp w0, #0
  mov w9, #7
  csel w9, wzr, w9, eq
  add w0, w0, w9
  ret
\when_zero:
  mov w0, #7
  ret
  .endm

  begin jump_if_negative
  b.lt 1f
  sides_of_sign 1, 2
  end jump_if_negative

  begin jump_if_zero
  cbz w0, 1f
  sides_of_zero 1, 2
  end jump_if_zero

  begin jump_if_not_zero
  cbnz w0, 2f
  mov w0, #7
  ret
  sides_of_zero 1, 2
  end jump_if_not_zero

  begin jump_if_bit_clear
  tbz w0, #31, 2f
  orr w0, w0, #0x80000000
  add w0, w0, #7
  ret
  sides_of_sign 1, 2
  end jump_if_bit_clear

  begin jump_if_bit_set
  tbnz w0, #31, 1f
  sides_of_sign 1, 2
  end jump_if_bit_set

  begin call_near
  .cfi_register x30, x19
  bl helper
  ret x19
  end call_near

  begin call_register
  .cfi_register x30, x19
  blr x1
  ret x19
  end call_register

  begin address
  adr x2, seven_here
  ldr w2, [x2]
  add w0, w0, w2
  ret
  end address

  begin page_address
  adrp x2, seven
  ldr w2, [x2, #:lo12:seven]
  add w0, w0, w2
  ret
  end page_address

  begin load_w
  ldr w2, seven_here
  add w0, w0, w2
  ret
  end load_w

  begin load_x
  ldr x2, seven_here
  add x0, x0, x2
  ret
  end load_x

  begin load_sw
  ldrsw x2, minus_seven_here
  sub x0, x0, x2
  ret
  end load_sw

  begin load_s
  ldr s0, seven_here
  fmov w2, s0
  add w0, w0, w2
  ret
  end load_s

  begin load_d
  ldr d0, seven_here
  fmov x2, d0
  add x0, x0, x2
  ret
  end load_d

  begin load_q
  ldr q0, seven_above_here
  mov x2, v0.d[1]
  add x0, x0, x2
  ret
  end load_q

  begin load_nothing
  ldr xzr, seven_here
  add w0, w0, #7
  ret
  end load_nothing

  begin prefetch
  prfm pldl1keep, seven_here
  add w0, w0, #7
  ret
  end prefetch

  begin nothing
  nop
  add w0, w0, #7
  ret
  end nothing

  begin pushes
  stp x29, x30, [sp, #-16]!
  .cfi_adjust_cfa_offset 16
  .cfi_rel_offset x29, 0
  .cfi_rel_offset x30, 8
  mov x29, sp
  bl helper
  ldp x29, x30, [sp], #16
  .cfi_adjust_cfa_offset -16
  .cfi_restore x29
  .cfi_restore x30
  ret
  end pushes

  begin one_instruction
  add w0, w0, #7
  ret
  end one_instruction

  begin thunk
  b helper
  end thunk

// Returns x.
  begin one_word
  ret
  end one_word

  .purgem begin
  .purgem end
  .popsection
)");
