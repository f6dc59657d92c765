// Compiled with -mbranch-protection=standard.
#include "tests/contract/function_patch/aarch64/guarded_targets.hpp"

int guarded_leaf(int x) { return x + 7; }

__attribute__((noinline)) int guarded_caller(int x) {
  // A call that is no tail call: so the return address is signed.
  volatile int sum = guarded_leaf(x);
  return sum;
}

__asm__(R"(
  .pushsection .text
  .balign 4
  .globl guarded_without_pad
  .type guarded_without_pad, @function
guarded_without_pad:
  add w0, w0, #7
  ret
  .size guarded_without_pad, . - guarded_without_pad
  .popsection
)");
