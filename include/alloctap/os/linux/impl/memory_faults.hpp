/// Definitions for os/linux/memory_faults.hpp.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "alloctap/macros.hpp"
#include "alloctap/os/linux/memory_faults.hpp"

namespace alloctap::os {

ALLOCTAP_INLINE MemoryFault fault_of(const siginfo_t& info, const void* context) noexcept {
  const bool is_access = info.si_code == SEGV_MAPERR || info.si_code == SEGV_ACCERR;
  if (!is_access) return {};
  const auto& machine = *static_cast<const ucontext_t*>(context);
  return {.address = reinterpret_cast<std::uintptr_t>(info.si_addr),
          .code = code_of(machine),
          .access = access_of(machine)};
}

ALLOCTAP_INLINE bool FaultSignal::take_over() noexcept {
  bool is_taken = false;
  if (!taken_.compare_exchange_strong(is_taken, true)) return true;
  struct sigaction action{};
  bool is_set = ::sigaction(SIGSEGV, nullptr, &previous_) == 0;
  action.sa_sigaction = &handle;
  // Uses the previous handler's flags and mask, because our handler may call it.
  action.sa_mask = previous_.sa_mask;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | (previous_.sa_flags & (SA_NODEFER | SA_RESTART));
  is_set = is_set && ::sigaction(SIGSEGV, &action, nullptr) == 0;
  if (!is_set) taken_.store(false);
  return is_set;
}

ALLOCTAP_INLINE void FaultSignal::handle(int number, siginfo_t* info, void* context) noexcept {
  const int error = errno;
  const MemoryFault fault = fault_of(*info, context);
  const bool is_done = fault.address != 0 && ask_fault_listeners(fault) == FaultVerdict::kRetry;
  errno = error;
  if (!is_done) pass_on(number, info, context);
}

ALLOCTAP_INLINE void FaultSignal::pass_on(int number, siginfo_t* info, void* context) noexcept {
  const struct sigaction before = previous_;
  const bool is_handled = before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN;
  // Ends the process even if the signal is ignored, because the kernel would do so.
  if (!is_handled) return end_process(*info);
  if ((before.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) previous_.sa_handler = SIG_DFL;
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(number, info, context);
  before.sa_handler(number);
}

ALLOCTAP_INLINE void FaultSignal::end_process(const siginfo_t& info) noexcept {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  ::sigaction(SIGSEGV, &action, nullptr);
  if (info.si_code > 0) return;
  ::syscall(SYS_tgkill, ::getpid(), ::syscall(SYS_gettid), SIGSEGV);
}

}  // namespace alloctap::os
