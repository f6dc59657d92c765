#include "examples/tools/preload/seccomp_filter.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace {

using alloctap::run::SeccompFilter;
using Filter = std::vector<sock_filter>;

constexpr seccomp_data kCall{.nr = 39, .arch = 7, .instruction_pointer = 0, .args = {}};

bool allows(const Filter& filter) { return SeccompFilter(filter).allows(kCall); }

/// Allows the call if A is `value` after `steps`.
bool leaves(Filter steps, unsigned value) {
  steps.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
  steps.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  steps.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  return allows(steps);
}

bool calculates(unsigned short operation, unsigned operand, unsigned value) {
  const auto code = static_cast<unsigned short>(BPF_ALU | operation);
  const sock_filter load = BPF_STMT(BPF_LD | BPF_IMM, 6);
  return leaves({load, BPF_STMT(code | BPF_K, operand)}, value) &&
         leaves({BPF_STMT(BPF_LDX | BPF_IMM, operand), load, BPF_STMT(code | BPF_X, 0)}, value);
}

TEST_CASE("a filter of calls allows what it returns so, and logs") {
  CHECK(allows({BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}));
  CHECK(allows({BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_LOG)}));
  for (const unsigned refusal : {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD,
                                 SECCOMP_RET_TRAP, SECCOMP_RET_ERRNO | 1U, SECCOMP_RET_TRACE}) {
    CHECK_FALSE(allows({BPF_STMT(BPF_RET | BPF_K, refusal)}));
  }
  CHECK(allows({BPF_STMT(BPF_LD | BPF_IMM, SECCOMP_RET_ALLOW), BPF_STMT(BPF_RET | BPF_A, 0)}));
  CHECK_FALSE(allows({}));
}

TEST_CASE("a filter of calls loads from the call, its memory and itself") {
  CHECK(leaves({BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)}, 39));
  CHECK(leaves({BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4)}, 7));
  CHECK(leaves({BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0)}, sizeof kCall));
  CHECK(leaves({BPF_STMT(BPF_LD | BPF_IMM, 3), BPF_STMT(BPF_ST, 2), BPF_STMT(BPF_LD | BPF_IMM, 4),
                BPF_STMT(BPF_LD | BPF_MEM, 2)},
               3));
  CHECK(leaves({BPF_STMT(BPF_LD | BPF_IMM, 3), BPF_STMT(BPF_MISC | BPF_TAX, 0),
                BPF_STMT(BPF_STX, 1), BPF_STMT(BPF_LD | BPF_IMM, 4), BPF_STMT(BPF_LD | BPF_MEM, 1)},
               3));
  CHECK(leaves({BPF_STMT(BPF_LDX | BPF_IMM, 3), BPF_STMT(BPF_MISC | BPF_TXA, 0)}, 3));
}

TEST_CASE("a filter of calls calculates") {
  CHECK(calculates(BPF_ADD, 4, 10));
  CHECK(calculates(BPF_SUB, 4, 2));
  CHECK(calculates(BPF_MUL, 4, 24));
  CHECK(calculates(BPF_DIV, 4, 1));
  CHECK(calculates(BPF_OR, 9, 15));
  CHECK(calculates(BPF_AND, 12, 4));
  CHECK(calculates(BPF_XOR, 3, 5));
  CHECK(calculates(BPF_LSH, 2, 24));
  CHECK(calculates(BPF_RSH, 1, 3));
  CHECK(leaves({BPF_STMT(BPF_LD | BPF_IMM, 1), BPF_STMT(BPF_ALU | BPF_NEG, 0)}, ~0U));
}

TEST_CASE("a filter of calls jumps") {
  const auto jumps = [](unsigned short condition, unsigned value) {
    const auto code = static_cast<unsigned short>(BPF_JMP | condition | BPF_K);
    return allows({BPF_STMT(BPF_LD | BPF_IMM, 6), BPF_JUMP(code, value, 1, 0),
                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)});
  };
  CHECK(jumps(BPF_JA, 1));
  CHECK(jumps(BPF_JEQ, 6));
  CHECK_FALSE(jumps(BPF_JEQ, 5));
  CHECK(jumps(BPF_JGT, 5));
  CHECK_FALSE(jumps(BPF_JGT, 6));
  CHECK(jumps(BPF_JGE, 6));
  CHECK_FALSE(jumps(BPF_JGE, 7));
  CHECK(jumps(BPF_JSET, 2));
  CHECK_FALSE(jumps(BPF_JSET, 8));
}

}  // namespace
