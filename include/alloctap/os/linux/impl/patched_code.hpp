/// Definitions for os/linux/patched_code.hpp.
#pragma once

#include "alloctap/os/linux/patched_code.hpp"

namespace alloctap::os {

ALLOCTAP_INLINE bool TrapSignal::take_over(void (*handler)(int, siginfo_t*, void*)) noexcept {
  struct sigaction now{};
  if (::sigaction(number_, nullptr, &now) != 0) return false;
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == handler) return true;
  previous_ = now;
  struct sigaction action{};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  return ::sigaction(number_, &action, nullptr) == 0;
}

ALLOCTAP_INLINE void TrapSignal::pass_on(siginfo_t* info, void* context,
                                         bool comes_back) const noexcept {
  if (comes_back) return end_process();
  if ((previous_.sa_flags & SA_SIGINFO) != 0) {
    return previous_.sa_sigaction(number_, info, context);
  }
  if (previous_.sa_handler != SIG_DFL && previous_.sa_handler != SIG_IGN) {
    return previous_.sa_handler(number_);
  }
  // Ends the process even if the signal is ignored, because the kernel would do so.
  end_process();
}

ALLOCTAP_INLINE void TrapSignal::end_process() const noexcept {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  ::sigaction(number_, &action, nullptr);
  ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), number_);
}

ALLOCTAP_INLINE bool catch_traps(ResumePlace resume) noexcept {
  resume_place.store(resume, std::memory_order_release);
  return breakpoint_signal.take_over(&handle_trap) &&
         undefined_instruction_signal.take_over(&handle_trap);
}

}  // namespace alloctap::os
