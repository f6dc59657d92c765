#include "tests/contract/function_patch/x86_64/register_probe.hpp"

#include "tests/contract/function_patch/target_macros.hpp"

ProbedRegisters registers_passed{};
ProbedRegisters registers_in_replacement{};
ProbedRegisters registers_in_target{};
void (*original_of_probe)() = nullptr;

// Moves change no flags, so the registers are stored first.
__asm__(R"(
  .macro for_each_general macro, area
  .set offset, 16384
  .irp register, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
  \macro \register, \area
  .set offset, offset + 8
  .endr
  .endm
  .macro store register, area
  mov %\register, \area + offset(%rip)
  .endm
  .macro load register, area
  mov \area + offset(%rip), %\register
  .endm

# All but rsp, into an area of zeros; rax, rdx and the flags are lost.
  .macro store_all area
  for_each_general store, \area
  pushfq
  pop \area + offset(%rip)
  mov $-1, %eax
  mov $-1, %edx
  xsave64 \area(%rip)
  .endm
  .macro load_all area
  mov $-1, %eax
  mov $-1, %edx
  xrstor64 \area(%rip)
  .set offset, 16384 + 15 * 8
  push \area + offset(%rip)
  popfq
  for_each_general load, \area
  .endm

  .text
  begin registers
  mov %rsp, %rsp
  mov %rbx, %rbx
  store_all registers_in_target
  ret
  end registers

  .globl probing_replacement
probing_replacement:
  store_all registers_in_replacement
  load_all registers_in_replacement
  jmp *original_of_probe(%rip)

  .globl call_with_all_registers
call_with_all_registers:
  .irp register, rbx, rbp, r12, r13, r14, r15
  push %\register
  .endr
  sub $520, %rsp
  fxsave64 (%rsp)
  mov %rdi, 512(%rsp)
  load_all registers_passed
  call *512(%rsp)
  cld
  fxrstor64 (%rsp)
  add $520, %rsp
  .irp register, r15, r14, r13, r12, rbp, rbx
  pop %\register
  .endr
  ret

  .purgem for_each_general
  .purgem store
  .purgem load
  .purgem store_all
  .purgem load_all
  .purgem begin
  .purgem end
)");
