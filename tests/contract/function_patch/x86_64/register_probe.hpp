/// What the registers of x86-64 are when a function is entered.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tests/contract/function_patch/target_abi.hpp"

/// In the order in which the assembly below stores them. `extended` is what XSAVE stores (Intel
/// SDM volume 1, 13.4) of all that the system has switched on; tiles fit too.
struct alignas(64) ProbedRegisters {
  std::array<std::byte, 16384> extended{};
  /// rax, rbx, rcx, rdx, rsi, rdi, rbp, r8 to r15.
  std::array<std::uint64_t, 15> general{};
  std::uint64_t flags = 0;
};

extern "C" {
/// Leaves what it finds in the registers in `registers_in_target`, and returns.
void target_registers();
extern const std::byte target_registers_end[];
/// Calls `function` with `registers_passed` in all registers but rsp.
TARGET_ABI void call_with_all_registers(void (*function)());
/// Stores the registers in `registers_in_replacement`, and goes on at `original_of_probe` with the
/// same.
void probing_replacement();

extern ProbedRegisters registers_passed;
extern ProbedRegisters registers_in_replacement;
extern ProbedRegisters registers_in_target;
extern void (*original_of_probe)();
}
