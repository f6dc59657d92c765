/// What getcontext saved.
#pragma once

#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "alloctap/elf/byte_reader.hpp"

namespace alloctap::testing {

#if defined(__x86_64__)

/// The registers of a context, by DWARF number.
inline elf::RegisterFile registers_of(const ucontext_t& context) {
  constexpr std::array<int, elf::RegisterFile::kCount> kPlaces = {
      REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
      REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  elf::RegisterFile registers;
  for (unsigned number = 0; number < kPlaces.size(); ++number) {
    const auto value = context.uc_mcontext.gregs[kPlaces[number]];
    registers.set(number, static_cast<std::uintptr_t>(value));
  }
  return registers;
}

inline std::uintptr_t pc_of(const ucontext_t& context) {
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
}

#elif defined(__aarch64__)

inline elf::RegisterFile registers_of(const ucontext_t& context) {
  elf::RegisterFile registers;
  for (unsigned number = 0; number < 31; ++number) {
    registers.set(number, context.uc_mcontext.regs[number]);
  }
  registers.set(31, context.uc_mcontext.sp);
  return registers;
}

inline std::uintptr_t pc_of(const ucontext_t& context) { return context.uc_mcontext.pc; }

#endif

}  // namespace alloctap::testing
