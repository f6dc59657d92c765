/// The signal trampoline and the signal frame, for systems whose trampoline has no unwind table.
///
/// On AArch64, Linux has the trampoline in its vDSO but discards the vDSO's unwind tables
/// (arch/arm64/kernel/vdso/vdso.lds.S and sigreturn.S). The trampolines of qemu-user and musl have
/// no unwind tables, either. The instructions do not vary, so GCC's unwinder recognizes the
/// trampoline by them (libgcc/config/aarch64/linux-unwind.h).
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

  /// `struct rt_sigframe` of arch/arm64/kernel/signal.c, at the stack pointer.
  struct Frame {
    siginfo_t information;
    ucontext_t context;
  };

  /// Offset from the stack pointer of the interrupted registers. The registers are stored in the
  /// order of their DWARF numbers, up to the program counter.
  static constexpr std::ptrdiff_t kRegisters = offsetof(Frame, context.uc_mcontext.regs);
};

#else

/// Empty, because unwind tables cover the trampolines on other architectures.
struct SignalReturn {
  using Code = std::array<std::uint32_t, 0>;

  static constexpr Code kCode{};
  static constexpr std::ptrdiff_t kRegisters = 0;
};

#endif

}  // namespace alloctap::arch
