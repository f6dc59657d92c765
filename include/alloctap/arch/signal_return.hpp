/// The code that handlers of signals return to, and what the system left for it on the stack, where
/// no unwind table tells of it.
///
/// Linux has such code in its vDSO for AArch64 and throws the vDSO's tables away
/// (arch/arm64/kernel/vdso/vdso.lds.S and sigreturn.S); qemu-user and musl have none for theirs.
/// The instructions are everywhere the same, which is how GCC's unwinder knows them
/// (libgcc/config/aarch64/linux-unwind.h).
#pragma once

#if defined(__aarch64__)
#include <signal.h>
#include <ucontext.h>
#endif

#include <array>
#include <cstddef>
#include <cstdint>

namespace alloctap::arch {

#if defined(__aarch64__)

struct SignalReturn {
  using Code = std::array<std::uint32_t, 2>;

  /// mov x8, #139 (rt_sigreturn); svc #0.
  static constexpr Code kCode{0xd2801168, 0xd4000001};

  /// `struct rt_sigframe` of arch/arm64/kernel/signal.c: what the stack pointer is at.
  struct Frame {
    siginfo_t information;
    ucontext_t context;
  };

  /// Where it has the registers of what was interrupted, in the order of their DWARF numbers up to
  /// the program counter: bytes from the stack pointer.
  static constexpr std::ptrdiff_t kRegisters = offsetof(Frame, context.uc_mcontext.regs);
};

#else

/// Tables tell of all such code.
struct SignalReturn {
  using Code = std::array<std::uint32_t, 0>;

  static constexpr Code kCode{};
  static constexpr std::ptrdiff_t kRegisters = 0;
};

#endif

}  // namespace alloctap::arch
