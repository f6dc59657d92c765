// Functions in assembler: with unwind tables written by hand, and without any.
#include "compared_process.hpp"

extern "C" {
using Function = void();
/// The CFA in rbx, which the caller's stack is restored from.
void cfa_in_other_register(Function* function);
/// The CFA by an expression.
void cfa_by_expression(Function* function);
/// The frame pointer holds a number of its own, and is restored.
void frame_pointer_is_number(Function* function);
/// As the last, and the caller's is in another register.
void frame_pointer_in_register(Function* function);
/// No table tells of it, and its frame pointer leads to no frame record.
void without_table(Function* function);
/// No table tells of it, and it keeps a frame record.
void with_record_alone(Function* function);
}

// NOLINTNEXTLINE(hicpp-no-assembler)
__asm__(R"(
.text
.globl cfa_in_other_register
cfa_in_other_register:
  .cfi_startproc
  push %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_offset rbx, -16
  mov %rsp, %rbx
  .cfi_def_cfa_register rbx
  sub $1040, %rsp
  and $-256, %rsp
  call *%rdi
  mov %rbx, %rsp
  .cfi_def_cfa_register rsp
  pop %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore rbx
  ret
  .cfi_endproc

.globl cfa_by_expression
cfa_by_expression:
  .cfi_startproc
  sub $72, %rsp
  # DW_CFA_def_cfa_expression: breg7 (rsp) + 40, plus 40
  .cfi_escape 0x0f, 0x04, 0x77, 40, 0x23, 40
  call *%rdi
  add $72, %rsp
  .cfi_def_cfa rsp, 8
  ret
  .cfi_endproc

.globl frame_pointer_is_number
frame_pointer_is_number:
  .cfi_startproc
  push %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_offset rbp, -16
  mov $-1, %rbp
  sub $16, %rsp
  .cfi_adjust_cfa_offset 16
  call *%rdi
  add $16, %rsp
  .cfi_adjust_cfa_offset -16
  pop %rbp
  .cfi_adjust_cfa_offset -8
  .cfi_restore rbp
  ret
  .cfi_endproc

.globl frame_pointer_in_register
frame_pointer_in_register:
  .cfi_startproc
  push %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_offset rbx, -16
  mov %rbp, %rbx
  .cfi_register rbp, rbx
  mov $-1, %rbp
  call *%rdi
  mov %rbx, %rbp
  .cfi_restore rbp
  pop %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore rbx
  ret
  .cfi_endproc

.globl without_table
without_table:
  push %rbp
  mov $42, %ebp
  call *%rdi
  pop %rbp
  ret

.globl with_record_alone
with_record_alone:
  push %rbp
  mov %rsp, %rbp
  call *%rdi
  pop %rbp
  ret
)");

namespace {

using namespace alloctap::testing;

/// Calls one function of the above from another.
template <void (*outer)(Function*), void (*inner)(Function*)>
ALLOCTAP_NOINLINE void call_both() {
  outer([] {
    inner(&allocate);
    stay();
  });
  stay();
}

/// Its frame pointer is needed to find its caller.
ALLOCTAP_NOINLINE void with_room(std::size_t bytes, Function* function) {
  escape(__builtin_alloca(bytes));
  function();
  stay();
}

}  // namespace

TEST_CASE("stacks pass through tables written by hand") {
  ComparedRun run;
  for (std::size_t i = 0; i < 50; ++i) {
    with_room(i * 16 + 1, &call_both<&cfa_in_other_register, &cfa_by_expression>);
    with_room(i * 32 + 1, &call_both<&cfa_by_expression, &frame_pointer_is_number>);
    with_room(i * 48 + 1, &call_both<&frame_pointer_is_number, &cfa_in_other_register>);
    with_room(i * 64 + 1, &call_both<&frame_pointer_in_register, &cfa_by_expression>);
    with_room(i * 64 + 1, &call_both<&frame_pointer_is_number, &frame_pointer_in_register>);
  }
  run.check_whole(250);
}

TEST_CASE("a stack ends, and counts as failed, at a function without a table or a frame record") {
  ComparedRun run;
  for (std::size_t i = 0; i < 50; ++i) {
    with_room(i * 16 + 1, &call_both<&cfa_by_expression, &without_table>);
    with_room(i * 16 + 1, &call_both<&without_table, &cfa_by_expression>);
    allocate();
  }
  const StackComparison comparison = run.check_equal(150);
  CHECK(comparison.tested_failed == 100);
  CHECK(comparison.by_records == 0);
}

TEST_CASE("a stack goes on, where the compiler's unwinder ends, by frame records") {
  ComparedRun run;
  for (std::size_t i = 0; i < 50; ++i) {
    with_room(i * 16 + 1, &call_both<&cfa_by_expression, &with_record_alone>);
    with_room(i * 16 + 1, &call_both<&with_record_alone, &frame_pointer_is_number>);
    with_room(i * 16 + 1, &call_both<&with_record_alone, &without_table>);
    allocate();
  }
  const StackComparison comparison = run.check_equal(200);
  CHECK(comparison.trusted_failed == 150);
  CHECK(comparison.by_records == 100);
  CHECK(comparison.tested_failed == 50);
}
