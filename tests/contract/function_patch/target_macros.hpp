/// Macros of the assembler for the targets: begin NAME, and end NAME behind it.
#pragma once

__asm__(R"(
  .macro begin name, alignment=16
  .balign \alignment
  .globl target_\name
  .hidden target_\name
  .type target_\name, @function
target_\name:
  .cfi_startproc
  .endm
  .macro end name
  .cfi_endproc
  .size target_\name, . - target_\name
  .globl target_\name\()_end
  .hidden target_\name\()_end
target_\name\()_end:
  .endm
)");
