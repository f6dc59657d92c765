// Targets that cannot be patched, those that only jump to others, and some for single tests.
#include "tests/contract/function_patch/target_macros.hpp"
#include "tests/contract/function_patch/targets.hpp"

__asm__(R"(
  .data
thunk_word: .quad thunk_destination
unbound_word: .quad binding_stub

  .text
thunk_destination:
  lea 7(%rdi), %eax
  ret

# What is refused.
  begin branches_back
  xor %eax, %eax
1: inc %eax
  cmp $7, %eax
  jne 1b
  add %edi, %eax
  ret
  end branches_back

  begin loops_to_entry
  add $1, %edi
  cmp $7, %edi
  jl target_loops_to_entry
  mov %edi, %eax
  ret
  end loops_to_entry

  begin reads_itself
  mov target_reads_itself(%rip), %eax
  ret
  end reads_itself

  begin too_short
  mov %edi, %eax
  ret
  end too_short
  begin zeros_behind, 1
  mov %edi, %eax
  ret
  end zeros_behind
  .balign 16, 0

  begin unknown
  mov $7, %eax
  add %edi, %eax
  ret
  .byte 0x06
  end unknown

  begin has_breakpoint
  nop
  int3
  mov $7, %eax
  ret
  end has_breakpoint

  begin word_thunk
  endbr64
  .byte 0xF2
  jmp *thunk_word(%rip)
  end word_thunk

  begin far_thunk
  jmp target_word_thunk
  end far_thunk

  begin unbound_thunk
  jmp *unbound_word(%rip)
  end unbound_thunk
binding_stub:
  .byte 0x68
  .long 3
  jmp thunk_destination

  begin endless_thunk
  jmp target_endless_thunk
  end endless_thunk

  begin unreachable
  mov $7, %eax
  add %edi, %eax
  ret
  end unreachable

  begin wide
  {disp32} jmp wide_body
  end wide

  begin parked_read
  xor %eax, %eax
  syscall
  ret
  nop
  nop
  end parked_read

  .balign 16
  .globl target_many
  mark_begin many
target_many:
  .set number, 0
  .rept 600
  push %rbx
  mov %edi, %ebx
  lea number(%rbx), %eax
  pop %rbx
  ret
  .balign 16
  .set number, number + 1
  .endr

  .purgem begin
  .purgem end
)");
