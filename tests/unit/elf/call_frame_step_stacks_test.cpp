#include <doctest/doctest.h>
#include <signal.h>
#include <ucontext.h>
#include <unwind.h>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "alloctap/elf/call_frame_interpreter.hpp"
#include "alloctap/elf/call_frame_step.hpp"
#include "alloctap/elf/find_row.hpp"
#include "tests/support/context_registers.hpp"

// Real stacks, walked by rules alone, against GCC's unwinder.

namespace {

using namespace alloctap::elf;
using alloctap::testing::pc_of;
using alloctap::testing::registers_of;

/// The stack is this process's own and whole.
__attribute__((no_sanitize("address"))) bool read_word(std::uintptr_t address,
                                                       std::uintptr_t& word) noexcept {
  if (address < 4096 || address % sizeof word != 0) return false;
  word = *reinterpret_cast<const std::uintptr_t*>(address);
  return true;
}

constexpr auto kReader = [](std::uintptr_t address, std::uintptr_t& word) noexcept {
  return read_word(address, word);
};

/// Room for every stack of these tests: signal handlers must not allocate.
std::vector<std::uintptr_t> room_for_frames() {
  std::vector<std::uintptr_t> frames;
  frames.reserve(512);
  return frames;
}

struct Walk {
  std::vector<std::uintptr_t> frames = room_for_frames();
  bool complete = false;
};

bool find_row_anywhere(std::uintptr_t address, CallFrameRow& row) {
  const auto tables = find_unwind_tables(address);
  RowSearch search;
  if (tables && find_row(*tables, address, row, search) == UnwindStatus::kFound) return true;
  return find_signal_row(address, row);
}

void walk_from(const ucontext_t& context, Walk& walk) {
  walk.frames.clear();
  walk.complete = false;
  RegisterFile registers = registers_of(context);
  std::uintptr_t pc = pc_of(context);
  bool exact = true;
  for (std::size_t depth = 0; depth < 200; ++depth) {
    walk.frames.push_back(pc);
    CallFrameRow row;
    if (!find_row_anywhere(exact ? pc : pc - 1, row)) break;
    const CallFrameStep step = step_to_caller(row, registers, kReader);
    walk.complete = step.outcome == CallFrameStep::Outcome::kOutermost;
    if (step.outcome != CallFrameStep::Outcome::kCaller) break;
    pc = step.pc;
    exact = step.pc_is_exact;
    registers = step.registers;
  }
}

/// What the walk and GCC's unwinder say of the place where `compare` was called last.
Walk ours;
std::vector<std::uintptr_t> theirs = room_for_frames();

_Unwind_Reason_Code add_to_theirs(_Unwind_Context* context, void*) {
  theirs.push_back(_Unwind_GetIP(context));
  return _URC_NO_REASON;
}

/// All frames but the one that the two were taken in: their calls are not at the same place.
__attribute__((noinline)) void compare() {
  ucontext_t context;
  getcontext(&context);
  walk_from(context, ours);
  theirs.clear();
  _Unwind_Backtrace(add_to_theirs, nullptr);
  // GCC's unwinder ends with an address of 0 where the outermost frame says so.
  if (!theirs.empty() && theirs.back() == 0) theirs.pop_back();
  ours.frames.erase(ours.frames.begin());
  theirs.erase(theirs.begin());
}

void check_compared(std::size_t at_least) {
  CHECK(ours.complete);
  CHECK(ours.frames.size() >= at_least);
  CHECK(ours.frames == theirs);
  ours.frames.clear();
}

void on_signal(int) { compare(); }

std::array<char, 64 * 1024> alternate_stack;

/// Raises SIGUSR1 where `flags` say it shall be handled.
void handle_signal(int flags) {
  const stack_t stack{
      .ss_sp = alternate_stack.data(), .ss_flags = 0, .ss_size = alternate_stack.size()};
  stack_t old_stack;
  sigaltstack(&stack, &old_stack);
  struct sigaction action = {};
  struct sigaction old_action;
  action.sa_handler = on_signal;
  action.sa_flags = flags;
  sigaction(SIGUSR1, &action, &old_action);
  raise(SIGUSR1);
  sigaction(SIGUSR1, &old_action, nullptr);
  sigaltstack(&old_stack, nullptr);
}

int compare_once(const void*, const void*) {
  if (ours.frames.empty()) compare();
  return 0;
}

/// Has a frame of a size that is not known before it runs.
__attribute__((noinline)) std::size_t compare_behind_alloca(std::size_t bytes) {
  auto* memory = static_cast<volatile char*>(__builtin_alloca(bytes));
  memory[0] = 1;
  compare();
  return static_cast<std::size_t>(memory[0]) + bytes;
}

// NOLINTNEXTLINE(misc-no-recursion)
__attribute__((noinline)) std::size_t compare_in_depth(std::size_t depth) {
  if (depth == 0) {
    compare();
    return 0;
  }
  volatile std::size_t below = compare_in_depth(depth - 1);
  return below + 1;
}

struct ComparesInDestructor {
  ~ComparesInDestructor() { compare(); }
};

__attribute__((noinline)) void throw_past() {
  const ComparesInDestructor guard;
  throw std::runtime_error("past");
}

}  // namespace

TEST_CASE("a plain stack") {
  compare();
  check_compared(3);
}

TEST_CASE("a stack through the C library") {
  std::array<int, 4> values{4, 3, 2, 1};
  std::qsort(values.data(), values.size(), sizeof(int), compare_once);
  check_compared(5);
}

TEST_CASE("a deep stack, and one with a frame of changing size") {
  static_cast<void>(compare_in_depth(100));
  check_compared(100);
  for (const std::size_t bytes : {1U, 100U, 5000U}) {
    static_cast<void>(compare_behind_alloca(bytes));
    check_compared(4);
  }
}

TEST_CASE("a stack through a signal's frame, on the same stack and on another one") {
  handle_signal(0);
  check_compared(5);
  handle_signal(SA_ONSTACK);
  check_compared(5);
}

TEST_CASE("a stack while an exception is on its way") {
  try {
    throw_past();
  } catch (const std::runtime_error&) {
    check_compared(5);
  }
}
