// The functions that tell and change a signal's action and a thread's signal stack. Each calls the
// C library's own, and then lets the program see the default action where the handler of
// fatal_signals.cpp stands for it, and no stack where there is one of signal_stacks.cpp.
#include <signal.h>
#include <stdlib.h>

#include <alloctap/macros.hpp>

#include "fatal_signals.hpp"
#include "signal_functions.hpp"
#include "signal_stacks.hpp"

namespace {

using namespace alloctap::run;

/// For the functions of the shape of signal(2).
template <class Real>
SignalHandler set_handler(Real& real, const char* name, int signal, SignalHandler handler) {
  SignalHandler before = next_function(real, name)(signal, handler);
  before = show_as_program_sees(signal, before);
  keep_watching(signal);
  return before;
}

using SetHandler = SignalHandler(int, SignalHandler);

void raise_abort() noexcept {
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, SIGABRT);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(SIGABRT);
}

}  // namespace

extern "C" {

ALLOCTAP_EXPORT int sigaction(int signal, const struct sigaction* action,
                              struct sigaction* before) noexcept {
  const int error = real_sigaction(signal, action, before);
  if (error != 0) return error;
  if (before != nullptr) show_as_program_sees(signal, *before);
  if (action != nullptr) keep_watching(signal);
  return 0;
}

ALLOCTAP_EXPORT SignalHandler signal(int number, SignalHandler handler) noexcept {
  static constinit SetHandler* real = nullptr;
  return set_handler(real, "signal", number, handler);
}

ALLOCTAP_EXPORT SignalHandler ssignal(int number, SignalHandler handler) noexcept {
  static constinit SetHandler* real = nullptr;
  return set_handler(real, "ssignal", number, handler);
}

ALLOCTAP_EXPORT SignalHandler bsd_signal(int number, SignalHandler handler) noexcept {
  static constinit SetHandler* real = nullptr;
  return set_handler(real, "bsd_signal", number, handler);
}

ALLOCTAP_EXPORT SignalHandler sysv_signal(int number, SignalHandler handler) noexcept {
  static constinit SetHandler* real = nullptr;
  return set_handler(real, "sysv_signal", number, handler);
}

ALLOCTAP_EXPORT SignalHandler __sysv_signal(int number, SignalHandler handler) noexcept {
  static constinit SetHandler* real = nullptr;
  return set_handler(real, "__sysv_signal", number, handler);
}

ALLOCTAP_EXPORT SignalHandler sigset(int number, SignalHandler handler) noexcept {
  static constinit SetHandler* real = nullptr;
  return set_handler(real, "sigset", number, handler);
}

ALLOCTAP_EXPORT int sigaltstack(const stack_t* stack, stack_t* before) noexcept {
  using Signature = int(const stack_t*, stack_t*);
  static constinit Signature* real = nullptr;
  const bool takes_away = stack != nullptr && (stack->ss_flags & SS_DISABLE) != 0;
  const int error = next_function(real, "sigaltstack")(stack, before);
  if (error != 0) return error;
  if (before != nullptr) show_as_program_sees(*before);
  if (takes_away) restore_signal_stack();
  return 0;
}

/// After a handler of the program that returns, or where the program ignores the signal, the C
/// library's own brings the default action back out of our sight.
ALLOCTAP_EXPORT void abort() noexcept {
  raise_abort();
  static_cast<void>(signal(SIGABRT, SIG_DFL));
  raise_abort();
  using Signature = void();
  static constinit Signature* real = nullptr;
  next_function(real, "abort")();
  __builtin_unreachable();
}
}
