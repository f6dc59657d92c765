// The targets of targets.hpp. Each returns x + 7, but for those that say otherwise.
#include "tests/contract/function_patch/targets.hpp"

#include "tests/contract/function_patch/target_macros.hpp"

__asm__(R"(
  .data
seven: .long 7
word: .long 0
helper_word: .quad helper

  .text
helper:
  lea 7(%rdi), %eax
  ret

  begin load_relative
  mov seven(%rip), %eax
  add %edi, %eax
  ret
  end load_relative

  begin compare_relative
  cmpb $7, seven(%rip)
  jne 1f
  lea 7(%rdi), %eax
  ret
1: xor %eax, %eax
  ret
  end compare_relative

  begin store_relative
  push %rbx
  movl $7, word(%rip)
  mov word(%rip), %eax
  add %edi, %eax
  pop %rbx
  ret
  end store_relative

  begin_calling call_near
  reserve 8
  saved
  call helper
  add $8, %rsp
  .cfi_adjust_cfa_offset -8
  ret
  end_calling call_near

  begin_calling call_through_word
  save rbx
  saved
  call *helper_word(%rip)
  pop %rbx
  .cfi_adjust_cfa_offset -8
  ret
  end_calling call_through_word

  begin_calling call_register
  save rbx
  save rsi
  save rdx
  saved
  call *%rsi
  pop %rdx
  .cfi_adjust_cfa_offset -8
  pop %rsi
  .cfi_adjust_cfa_offset -8
  pop %rbx
  .cfi_adjust_cfa_offset -8
  ret
  end_calling call_register

  begin jump_short
  test %edi, %edi
  js 1f
  lea 7(%rdi), %eax
  ret
1: lea 7(%rdi), %eax
  ret
  end jump_short

  begin jump_near_if
  test %edi, %edi
  {disp32} jns 1f
  lea 7(%rdi), %eax
  ret
1: lea 7(%rdi), %eax
  ret
  end jump_near_if

  begin jump_if_zero_count
  mov %edi, %ecx
  jrcxz 1f
  lea 7(%rdi), %eax
  ret
1: mov $7, %eax
  ret
  end jump_if_zero_count

# Counts 7 down in place.
  begin loop_in_place
  push $7
  pop %rcx
1: loop 1b
  lea 7(%rdi,%rcx), %eax
  ret
  end loop_in_place

  begin jump_inside
  jmp 1f
  nop
1: xchg %ax, %ax
  lea 7(%rdi), %eax
  ret
  end jump_inside

# The outer branch grows, and the inner one must go over it.
  begin branch_widened_inside
  jmp 2f
1: js 3f
2: test %edi, %edi
  lea 7(%rdi), %eax
  ret
3: jmp helper
  end branch_widened_inside

  begin push_and_move
  push %rbp
  .cfi_adjust_cfa_offset 8
  mov %rsp, %rbp
  sub $16, %rsp
  lea 7(%rdi), %eax
  leave
  .cfi_adjust_cfa_offset -8
  ret
  end push_and_move

  begin pushes
  push %r15
  push %r14
  push %r13
  lea 7(%rdi), %eax
  pop %r13
  pop %r14
  pop %r15
  ret
  end pushes

  begin landing_pad
  endbr64
  push %rbx
  mov %edi, %ebx
  lea 7(%rbx), %eax
  pop %rbx
  ret
  end landing_pad

  begin landing_pad_one_instruction
  endbr64
  mov $7, %eax
  add %edi, %eax
  ret
  end landing_pad_one_instruction

  begin one_instruction
  mov $7, %eax
  add %edi, %eax
  ret
  end one_instruction

  begin thunk
  {disp32} jmp helper
  end thunk

# Returns x.
  begin padded_with_nops
  mov %edi, %eax
  ret
  end padded_with_nops
  .balign 16, 0x90

  begin padded_with_breakpoints
  mov %edi, %eax
  ret
  end padded_with_breakpoints
  .balign 16, 0xCC

  .balign 16
  .skip 6, 0x90
  begin across_words, 1
  push %rbx
  mov %edi, %ebx
  xor %eax, %eax
  lea 7(%rbx), %eax
  pop %rbx
  ret
  end across_words

  .purgem begin
  .purgem end
)");
