// The functions of the C library by which a program confines itself: a report that the filter would
// refuse must not be tried, and handlers that could not end the process must be gone before it.
// And the function for any system call, of which one ends the process.
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <alloctap/macros.hpp>
#include <alloctap/os/linux/raw_system_call.hpp>
#include <alloctap/os/thread.hpp>
#include <cerrno>

#include "confinement.hpp"
#include "fatal_signals.hpp"
#include "final_report.hpp"
#include "report_thread.hpp"
#include "standard_error.hpp"

namespace {

using namespace alloctap::run;

/// What a filter that is about to be installed takes from the tracker.
struct Confinement {
  CallSet refused{};
  bool for_all_threads = false;

  [[nodiscard]] bool ends_reports() const noexcept {
    return for_all_threads && prevents_reports(refused);
  }
  [[nodiscard]] bool ends_signals() const noexcept {
    return prevents_signals(refused) || ends_reports();
  }
};

void prepare_for(const Confinement& confinement) noexcept {
  keep_standard_error_for_confinement();
  if (confinement.for_all_threads) await_report_thread();
  if (confinement.ends_signals()) stop_watching_fatal_signals();
  if (confinement.ends_reports()) stop_report_thread();
}

void undo(const Confinement& confinement) noexcept {
  if (confinement.ends_reports() && !start_report_thread()) return;
  if (confinement.ends_signals()) watch_fatal_signals();
}

void settle(const Confinement& confinement) noexcept {
  add_refused_calls(confinement.refused, confinement.for_all_threads);
  if (!may_call(SYS_getpid)) stop_asking_for_process();
  if (prevents_reports(confinement.refused)) alloctap::os::threads_are_confined.store(true);
}

/// `install` returns whether the filter is in force.
template <class Install>
void confine(const Confinement& confinement, Install install) noexcept {
  if (!report_owed()) return static_cast<void>(install());
  prepare_for(confinement);
  if (install()) return settle(confinement);
  const int error = errno;
  undo(confinement);
  errno = error;
}

/// What the kernel will refuse to install has no effect.
CallSet calls_refused_by(const sock_fprog* program) noexcept {
  if (program == nullptr || program->filter == nullptr) return {};
  return alloctap::run::calls_refused_by({program->filter, program->len});
}

Confinement confinement_of_prctl(long mode, long argument) noexcept {
  if (mode == SECCOMP_MODE_STRICT) return {.refused = calls_refused_by_strict_mode()};
  return {.refused = calls_refused_by(reinterpret_cast<const sock_fprog*>(argument))};
}

Confinement confinement_of_seccomp(unsigned long flags, const void* argument) noexcept {
  return {.refused = calls_refused_by(static_cast<const sock_fprog*>(argument)),
          .for_all_threads = (flags & SECCOMP_FILTER_FLAG_TSYNC) != 0};
}

ALLOCTAP_NOINLINE long result_of(long result) noexcept {
  errno = static_cast<int>(-result);
  return -1;
}

/// A call that might return, so that no frame is made for it.
ALLOCTAP_NOINLINE long end_process(long status) noexcept {
  volatile bool is_end = true;
  if (is_end) ::_exit(static_cast<int>(status));
  return 0;
}

ALLOCTAP_NOINLINE long install_by_seccomp(long operation, unsigned long flags,
                                          void* argument) noexcept {
  long result = 0;
  const auto install = [&] {
    result = alloctap::os::raw_system_call(SYS_seccomp, operation, static_cast<long>(flags),
                                           reinterpret_cast<long>(argument), 0, 0, 0);
    // A thread that has another filter is named by its id.
    return result == 0 || (result > 0 && (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0);
  };
  if (operation == SECCOMP_SET_MODE_STRICT) {
    confine({.refused = calls_refused_by_strict_mode()}, install);
  } else if (operation == SECCOMP_SET_MODE_FILTER) {
    confine(confinement_of_seccomp(flags, argument), install);
  } else {
    install();
  }
  return result < 0 ? result_of(result) : result;
}

}  // namespace

extern "C" {

// With the arguments that there may be, which are passed as if there were no ellipsis.
int interposed_prctl(int option, long a, long b, long c, long d) noexcept __asm__("prctl");
long interposed_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept
    __asm__("syscall");

ALLOCTAP_EXPORT int interposed_prctl(int option, long a, long b, long c, long d) noexcept {
  // Not by the next definition: a child of vfork or fork may call it, and must not ask the loader.
  const auto call = [&] { return interposed_syscall(SYS_prctl, option, a, b, c, d, 0); };
  if (option != PR_SET_SECCOMP) return static_cast<int>(call());
  int result = 0;
  confine(confinement_of_prctl(a, b), [&] {
    result = static_cast<int>(call());
    return result == 0;
  });
  return result;
}

/// Stands in no frame, as the C library's own: the call may be vfork.
ALLOCTAP_EXPORT long interposed_syscall(long number, long a, long b, long c, long d, long e,
                                        long f) noexcept {
  if (number == SYS_seccomp) [[unlikely]] {
    return install_by_seccomp(a, static_cast<unsigned long>(b), reinterpret_cast<void*>(c));
  }
  if (number == SYS_exit_group) [[unlikely]] {
    return end_process(a);
  }
  const long result = alloctap::os::raw_system_call(number, a, b, c, d, e, f);
  constexpr long kLastError = -4095;
  if (result >= kLastError && result < 0) [[unlikely]] {
    return result_of(result);
  }
  return result;
}
}
