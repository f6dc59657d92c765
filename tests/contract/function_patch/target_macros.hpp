/// Macros of the assembler for the targets: begin NAME, and end NAME behind it. Those that call are
/// within begin_calling and end_calling, and save what they use by save, reserve and saved.
#pragma once

#if defined(_WIN32)
__asm__(R"(
  .macro mark_begin name
  .endm
  .macro mark_end name
  .endm
  .macro begin_calling name
  begin \name
  .seh_proc target_\name
  .endm
  .macro end_calling name
  .seh_endproc
  end \name
  .endm
  .macro save register
  push %\register
  .cfi_adjust_cfa_offset 8
  .seh_pushreg %\register
  .endm
  .macro reserve bytes
  sub $\bytes, %rsp
  .cfi_adjust_cfa_offset \bytes
  .seh_stackalloc \bytes
  .endm
  .macro saved
  .seh_endprologue
  .endm
)");
#else
__asm__(R"(
  .macro mark_begin name
  .hidden target_\name
  .type target_\name, @function
  .endm
  .macro mark_end name
  .size target_\name, . - target_\name
  .hidden target_\name\()_end
  .endm
  .macro begin_calling name
  begin \name
  .endm
  .macro end_calling name
  end \name
  .endm
  .macro save register
  push %\register
  .cfi_adjust_cfa_offset 8
  .endm
  .macro reserve bytes
  sub $\bytes, %rsp
  .cfi_adjust_cfa_offset \bytes
  .endm
  .macro saved
  .endm
)");
#endif

__asm__(R"(
  .macro begin name, alignment=16
  .balign \alignment
  .globl target_\name
  mark_begin \name
target_\name:
  .cfi_startproc
  .endm
  .macro end name
  .cfi_endproc
  mark_end \name
  .globl target_\name\()_end
target_\name\()_end:
  .endm
)");
