/// Traps by SIGTRAP and SIGILL, and core synchronization by membarrier(2).
#pragma once

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <type_traits>

#include "alloctap/macros.hpp"
#include "alloctap/os/patched_code.hpp"

namespace alloctap::os {

/// The tracker's handler of one signal (SIGTRAP or SIGILL), and the previous handler.
class TrapSignal {
 public:
  explicit constexpr TrapSignal(int number) noexcept : number_(number) {}

  bool take_over(void (*handler)(int, siginfo_t*, void*)) noexcept;

  /// Passes the signal to the previous handler or, if that `comes_back` with it, ends the process.
  void pass_on(siginfo_t* info, void* context, bool comes_back) const noexcept;

 private:
  void end_process() const noexcept;

  int number_;
  struct sigaction previous_{};
};

inline constinit TrapSignal breakpoint_signal{SIGTRAP};
inline constinit TrapSignal undefined_instruction_signal{SIGILL};
inline constinit std::atomic<ResumePlace> resume_place{nullptr};

/// A trap that was passed to the previous handler, with the frame address that our handler had. If
/// the previous handler passes the trap back, our handler runs with the same context in a deeper
/// frame. For a new trap at the same stack depth, it runs in the same frame.
struct PassedTrap {
  const void* context = nullptr;
  const void* frame = nullptr;
};
ALLOCTAP_INITIAL_EXEC inline constinit thread_local PassedTrap passed_trap;

/// Returns a reference to the stopped thread's program counter.
inline auto& program_counter(void* context) noexcept {
  auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return machine.gregs[REG_RIP];
#elif defined(__aarch64__)
  return machine.pc;
#else
#error "alloctap/os/linux/patched_code.hpp does not know this architecture"
#endif
}

/// Returns the distance in bytes from the start of a breakpoint instruction to the program counter
/// that the signal reports.
inline constexpr std::uintptr_t breakpoint_advance() noexcept {
#if defined(__x86_64__)
  return 1;
#else
  return 0;
#endif
}

inline void handle_trap(int number, siginfo_t* info, void* context) noexcept {
  auto& counter = program_counter(context);
  const bool is_breakpoint = number == SIGTRAP;
  const auto place =
      static_cast<std::uintptr_t>(counter) - (is_breakpoint ? breakpoint_advance() : 0);
  const std::uintptr_t next = resume_place.load(std::memory_order_acquire)(place);
  if (next == 0) {
    const void* const frame = ALLOCTAP_FRAME_ADDRESS();
    const bool comes_back = passed_trap.context == context && frame < passed_trap.frame;
    if (!comes_back) passed_trap = {context, frame};
    return (is_breakpoint ? breakpoint_signal : undefined_instruction_signal)
        .pass_on(info, context, comes_back);
  }
  counter = static_cast<std::remove_reference_t<decltype(counter)>>(next);
}

/// Does nothing, because return addresses are never in relocated code. Only an unwind from a signal
/// handler that interrupted such code would need the information.
inline bool describe_moved_code(std::span<const MovedInstruction>, std::span<std::byte>) noexcept {
  return true;
}

/// Works since Linux 4.16. Defines numbers that old headers lack.
inline bool synchronize_cores() noexcept {
  constexpr int kPrivateExpeditedSyncCore = 1 << 5;
  constexpr int kRegisterPrivateExpeditedSyncCore = 1 << 6;
  if (::syscall(SYS_membarrier, kPrivateExpeditedSyncCore, 0, 0) == 0) return true;
  return ::syscall(SYS_membarrier, kRegisterPrivateExpeditedSyncCore, 0, 0) == 0 &&
         ::syscall(SYS_membarrier, kPrivateExpeditedSyncCore, 0, 0) == 0;
}

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/patched_code.hpp"
#endif
