// Targets that cannot be patched, those that only jump to others, and some for single tests.
#include "tests/contract/function_patch/target_macros.hpp"
#include "tests/contract/function_patch/targets.hpp"

__asm__(R"(
  .arch armv8.5-a
  .pushsection .data
  .balign 8
thunk_word: .quad thunk_destination
unbound_word: .quad binding_stub
  .popsection

  .pushsection .text
thunk_destination:
  add w0, w0, #7
  ret

// What is refused.
  begin branches_back
  bti c
1:
  add w0, w0, #1
  cmp w0, #7
  b.lt 1b
  ret
  end branches_back

  begin calls_behind_signing
  paciasp
1:
  add w0, w0, #7
  cbz w0, 2f
  autiasp
  ret
2:
  bl 1b
  autiasp
  ret
  end calls_behind_signing

  begin loops_to_entry
  add w0, w0, #1
  tbnz w0, #31, target_loops_to_entry
  ret
  end loops_to_entry

  begin reads_itself
  nop
  ldr w0, target_reads_itself
  ret
  end reads_itself

  begin takes_own_address
  bti c
1:
  nop
  adr x0, 1b
  ret
  end takes_own_address

  begin only_a_pad
  bti c
  end only_a_pad
  begin only_signing
  paciasp
  end only_signing

  begin unknown
  udf #0
  ret
  end unknown

  begin has_breakpoint
  brk #1
  ret
  end has_breakpoint

  begin two_pads
  bti c
  bti j
  ret
  end two_pads

  begin loads_exclusively
  ldxr w0, [x1]
  stxr w2, w0, [x1]
  ret
  end loads_exclusively

  begin word_thunk
  bti c
  adrp x16, thunk_word
  ldr x17, [x16, #:lo12:thunk_word]
  add x16, x16, #:lo12:thunk_word
  br x17
  end word_thunk

  begin far_thunk
  b target_word_thunk
  end far_thunk

  begin unbound_thunk
  adrp x16, unbound_word
  ldr x17, [x16, #:lo12:unbound_word]
  br x17
  end unbound_thunk
binding_stub:
  stp x16, x30, [sp, #-16]!
  b thunk_destination

  begin endless_thunk
  b target_endless_thunk
  end endless_thunk

  begin unreachable
  add w0, w0, #7
  ret
  end unreachable

  begin wide
  b wide_body
  end wide

  begin parked_read
  mov x8, #63
  br x3
  end parked_read
  begin parked_call
  svc #0
  ret
  end parked_call

  begin signed_link
  paciasp
  mov x0, x30
  autiasp
  ret
  end signed_link

  .balign 16
  .globl target_many
  .hidden target_many
target_many:
  .set number, 0
  .rept 600
  add w0, w0, #number
  ret
  nop
  nop
  .set number, number + 1
  .endr

  .purgem begin
  .purgem end
  .popsection
)");
