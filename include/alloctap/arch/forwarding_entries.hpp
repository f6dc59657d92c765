/// Entry points that ask which function to go on to and jump there, with the arguments and the
/// caller as they came. The loader tells its callers apart by their return addresses, so a
/// function that calls it in the caller's place will not do.
///
/// `alloctap_forward_open` asks `alloctap_plt_before_open`, `alloctap_forward_symbol` asks
/// `alloctap_plt_before_symbol`: both take nothing and return the function's address. Up to three
/// arguments are kept.
#pragma once

extern "C" {
__attribute__((visibility("hidden"))) void alloctap_forward_open();
__attribute__((visibility("hidden"))) void alloctap_forward_symbol();
}

// In sections of their own, of which the linker keeps one: every source file has them.
#if defined(__x86_64__)
__asm__(R"(
  .macro alloctap_forwarding_entry name, ask
  .pushsection .text.\name, "axG", @progbits, \name, comdat
  .weak \name
  .hidden \name
  .hidden \ask
  .type \name, @function
\name:
  .cfi_startproc
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  pushq %rdx
  .cfi_adjust_cfa_offset 8
  call \ask
  popq %rdx
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  jmp *%rax
  .cfi_endproc
  .size \name, . - \name
  .popsection
  .endm
  alloctap_forwarding_entry alloctap_forward_open, alloctap_plt_before_open
  alloctap_forwarding_entry alloctap_forward_symbol, alloctap_plt_before_symbol
  .purgem alloctap_forwarding_entry
)");
#elif defined(__aarch64__)
__asm__(R"(
  .macro alloctap_forwarding_entry name, ask
  .pushsection .text.\name, "axG", @progbits, \name, comdat
  .weak \name
  .hidden \name
  .hidden \ask
  .type \name, %function
\name:
  .cfi_startproc
  hint #34
  stp x29, x30, [sp, #-48]!
  .cfi_def_cfa_offset 48
  .cfi_offset x29, -48
  .cfi_offset x30, -40
  stp x0, x1, [sp, #16]
  str x2, [sp, #32]
  bl \ask
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldr x2, [sp, #32]
  ldp x29, x30, [sp], #48
  .cfi_def_cfa_offset 0
  .cfi_restore x29
  .cfi_restore x30
  br x16
  .cfi_endproc
  .size \name, . - \name
  .popsection
  .endm
  alloctap_forwarding_entry alloctap_forward_open, alloctap_plt_before_open
  alloctap_forwarding_entry alloctap_forward_symbol, alloctap_plt_before_symbol
  .purgem alloctap_forwarding_entry
)");
#else
#error "alloctap/arch/forwarding_entries.hpp does not know this architecture"
#endif
