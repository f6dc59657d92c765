/// A caller that keeps something in each register that a function has to preserve.
#pragma once

#include <array>
#include <cstdint>

namespace alloctap::testing {

/// What a function has to leave as it finds it: System V ABI for x86-64, section 3.2.1
/// (figure 3.4), and section 3.2.3 for the direction flag. Vector registers are all the callee's.
struct PreservedRegisters {
  /// rbx, rbp, r12 to r15.
  std::array<std::uint64_t, 6> general{};
  /// Of its bits, those from 6 on: the lower ones tell what happened.
  std::uint32_t mxcsr = 0;
  std::uint32_t x87_control = 0;
  /// rsp behind the call, less rsp before it.
  std::uint64_t stack_difference = 0;
  /// Bit 10 is the direction flag.
  std::uint64_t flags = 0;
};

using CallArguments = std::array<std::uint64_t, 6>;

}  // namespace alloctap::testing

/// Calls `function` with all of `registers` set, and leaves there what it finds afterwards. Returns
/// what the function returned.
extern "C" std::uint64_t alloctap_call_with_registers(
    alloctap::testing::PreservedRegisters* registers, const void* function,
    const std::uint64_t* arguments);

__asm__(R"(
  .pushsection .text.alloctap_call_with_registers, "axG", @progbits, alloctap_call_with_registers, comdat
  .weak alloctap_call_with_registers
  .type alloctap_call_with_registers, @function
alloctap_call_with_registers:
  .cfi_startproc
  .irp register, rbx, rbp, r12, r13, r14, r15
  pushq %\register
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset \register, 0
  .endr
  subq $24, %rsp
  .cfi_adjust_cfa_offset 24
  movq %rdi, (%rsp)
  stmxcsr 8(%rsp)
  fnstcw 12(%rsp)
  movq %rsp, 16(%rsp)
  ldmxcsr 48(%rdi)
  fldcw 52(%rdi)
  movq %rsi, %rax
  movq %rdx, %r10
  movq (%rdi), %rbx
  movq 8(%rdi), %rbp
  movq 16(%rdi), %r12
  movq 24(%rdi), %r13
  movq 32(%rdi), %r14
  movq 40(%rdi), %r15
  movq (%r10), %rdi
  movq 8(%r10), %rsi
  movq 16(%r10), %rdx
  movq 24(%r10), %rcx
  movq 32(%r10), %r8
  movq 40(%r10), %r9
  call *%rax
  movq (%rsp), %rcx
  movq %rsp, %rdx
  subq 16(%rsp), %rdx
  movq %rdx, 56(%rcx)
  pushfq
  .cfi_adjust_cfa_offset 8
  popq 64(%rcx)
  .cfi_adjust_cfa_offset -8
  cld
  movq %rbx, (%rcx)
  movq %rbp, 8(%rcx)
  movq %r12, 16(%rcx)
  movq %r13, 24(%rcx)
  movq %r14, 32(%rcx)
  movq %r15, 40(%rcx)
  stmxcsr 48(%rcx)
  fnstcw 52(%rcx)
  ldmxcsr 8(%rsp)
  fldcw 12(%rsp)
  addq $24, %rsp
  .cfi_adjust_cfa_offset -24
  .irp register, r15, r14, r13, r12, rbp, rbx
  popq %\register
  .cfi_adjust_cfa_offset -8
  .cfi_restore \register
  .endr
  ret
  .cfi_endproc
  .size alloctap_call_with_registers, . - alloctap_call_with_registers
  .popsection
)");
