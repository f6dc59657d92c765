// The stack pointer is moved and the call is displaced, with the second instruction inside the
// jump.
#include "tests/contract/function_patch/native_call.hpp"

#include "tests/contract/function_patch/target_macros.hpp"

__asm__(R"(
  .text
  begin_calling native_call
  reserve 40
  saved
  call *%rdx
  add $40, %rsp
  .cfi_adjust_cfa_offset -40
  ret
  end_calling native_call

  .purgem begin
  .purgem end
)");
