/// Assembly entry points that replace dlopen, dlmopen and dlsym.
///
/// Each entry point calls a C++ function that returns an address, then jumps to that address with
/// unchanged arguments and return address. A plain wrapper would not work, because the loader
/// identifies callers by their return addresses.
///
/// `alloctap_forward_symbol` (dlsym) calls `alloctap_plt_before_symbol`, which takes no arguments
/// and returns the function's address.
///
/// `alloctap_forward_open` (dlopen) passes the caller's return address and the second argument to
/// `alloctap_plt_before_open`, which returns a `ForwardedOpen`. `alloctap_forward_open_in`
/// (dlmopen) passes the caller's return address alone to `alloctap_plt_before_open_in`. If
/// `ForwardedOpen::gadget` is set, the called function returns to the gadget, and the gadget
/// returns to the entry point. The entry point then calls `alloctap_plt_after_open` with the result
/// and returns to the caller. All state is on the stack and covered by unwind tables. So the called
/// function may open further modules, throw, or never return.
///
/// The entry points preserve up to three arguments and one result.
#pragma once

#include <cstdint>

#include "alloctap/macros.hpp"

namespace alloctap::arch {

/// The function to jump to, and its return address. A two-word C struct, so that it is returned in
/// registers.
struct ForwardedOpen {
  std::uintptr_t function;
  /// The return address for the function: a gadget of `return_gadgets.hpp`, or 0 for the caller's.
  std::uintptr_t gadget;
};

}  // namespace alloctap::arch

extern "C" {
ALLOCTAP_HIDDEN void alloctap_forward_open();
ALLOCTAP_HIDDEN void alloctap_forward_open_in();
ALLOCTAP_HIDDEN void alloctap_forward_symbol();
}

// The functions are in COMDAT sections, because every source file that includes this header defines
// them. Unwinders look up return addresses minus 1, so a nop precedes each label that gadgets
// return to.
#if defined(__x86_64__)
ALLOCTAP_ASM(R"(
  .macro alloctap_begin_entry name, ask
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
  movq 24(%rsp), %rdi
  call \ask
  movq %rax, %r11
  movq %rdx, %r10
  popq %rdx
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  .endm

  .macro alloctap_end_entry name
  .cfi_endproc
  .size \name, . - \name
  .popsection
  .endm

  .macro alloctap_open_entry name, ask
  alloctap_begin_entry \name, \ask
  testq %r10, %r10
  jz 4f
  leaq 6f(%rip), %rax
  cmpb $0xC3, (%r10)
  je 3f

  # One word in front of what the gadget returns to.
  .cfi_remember_state
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  leaq 5f(%rip), %rax
  pushq %rax
  .cfi_adjust_cfa_offset 8
  cmpb $0x5D, (%r10)
  je 2f
  cmpb $0xC9, (%r10)
  je 2f

  # The gadget restores %rbx, or drops a word.
  .cfi_remember_state
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  pushq %r10
  .cfi_adjust_cfa_offset 8
  jmp *%r11
  .cfi_restore_state

2:
  # The gadget restores %rbp, from where it points or from the top.
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  movq %rsp, %rbp
  pushq %r10
  .cfi_adjust_cfa_offset 8
  jmp *%r11
  .cfi_restore_state

3:
  .cfi_remember_state
  pushq %rax
  .cfi_adjust_cfa_offset 8
  pushq %r10
  .cfi_adjust_cfa_offset 8
  jmp *%r11
  .cfi_restore_state

4:
  jmp *%r11

  .cfi_def_cfa_offset 16
  nop
5:
  addq $8, %rsp
  .cfi_def_cfa_offset 8
  nop
6:
  pushq %rax
  .cfi_adjust_cfa_offset 8
  movq %rax, %rdi
  call alloctap_plt_after_open
  popq %rax
  .cfi_adjust_cfa_offset -8
  ret
  alloctap_end_entry \name
  .endm

  .hidden alloctap_plt_after_open
  alloctap_open_entry alloctap_forward_open, alloctap_plt_before_open
  alloctap_open_entry alloctap_forward_open_in, alloctap_plt_before_open_in
  alloctap_begin_entry alloctap_forward_symbol, alloctap_plt_before_symbol
  jmp *%r11
  alloctap_end_entry alloctap_forward_symbol
  .purgem alloctap_open_entry
  .purgem alloctap_begin_entry
  .purgem alloctap_end_entry
)");
#elif defined(__aarch64__)
ALLOCTAP_ASM(R"(
  .macro alloctap_begin_entry name, ask
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
  mov x0, x30
  bl \ask
  mov x16, x0
  mov x17, x1
  ldp x0, x1, [sp, #16]
  ldr x2, [sp, #32]
  ldp x29, x30, [sp], #48
  .cfi_def_cfa_offset 0
  .cfi_restore x29
  .cfi_restore x30
  .endm

  .macro alloctap_end_entry name
  .cfi_endproc
  .size \name, . - \name
  .popsection
  .endm

  .macro alloctap_open_entry name, ask
  alloctap_begin_entry \name, \ask
  cbz x17, 2f

  .cfi_remember_state
  sub sp, sp, #48
  .cfi_def_cfa_offset 48
  str x30, [sp, #40]
  .cfi_offset x30, -8
  mov x9, sp
  .cfi_def_cfa x9, 48
  mov x10, x29
  .cfi_register x29, x10
  // The gadget restores x29 and x30, and frees as many bytes as its first instruction says. What
  // rows say of four other registers holds, too; the last of them may lie behind that frame.
  ldr w11, [x17]
  ubfx w11, w11, #15, #7
  sub sp, sp, x11, lsl #3
  adr x30, 3f
  stp x29, x30, [sp]
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  mov x29, sp
  mov x30, x17
  br x16
  .cfi_restore_state

2:
  br x16

  .cfi_def_cfa_offset 48
  .cfi_offset x30, -8
  nop
3:
  str x0, [sp, #32]
  bl alloctap_plt_after_open
  ldp x0, x30, [sp, #32]
  add sp, sp, #48
  .cfi_def_cfa_offset 0
  .cfi_restore x30
  ret
  alloctap_end_entry \name
  .endm

  .hidden alloctap_plt_after_open
  alloctap_open_entry alloctap_forward_open, alloctap_plt_before_open
  alloctap_open_entry alloctap_forward_open_in, alloctap_plt_before_open_in
  alloctap_begin_entry alloctap_forward_symbol, alloctap_plt_before_symbol
  br x16
  alloctap_end_entry alloctap_forward_symbol
  .purgem alloctap_open_entry
  .purgem alloctap_begin_entry
  .purgem alloctap_end_entry
)");
#else
#error "alloctap/arch/forwarding_entries.hpp does not know this architecture"
#endif
