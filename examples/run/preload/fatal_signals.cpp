#include "fatal_signals.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <alloctap/guard/thread_state.hpp>
#include <alloctap/macros.hpp>
#include <alloctap/os/error_preserver.hpp>
#include <alloctap/os/futex.hpp>
#include <array>
#include <atomic>
#include <cstdint>

#include "final_report.hpp"
#include "report_thread.hpp"
#include "signal_functions.hpp"

namespace alloctap::run {
namespace {

/// Every signal whose default action ends the process (signal(7)), but for SIGKILL and the
/// real-time ones.
constexpr std::array kWatched{SIGHUP,  SIGINT,  SIGQUIT,   SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
                              SIGFPE,  SIGUSR1, SIGSEGV,   SIGUSR2, SIGPIPE, SIGALRM, SIGTERM,
                              SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGIO,   SIGPWR,  SIGSYS};

constinit std::atomic<int> fatal_signal{0};
constinit std::atomic<bool> watching{false};

/// What the program last asked for where it asked for the default action.
constinit std::array<struct sigaction, NSIG> program_actions{};

struct sigaction& program_action(int signal) noexcept {
  return program_actions[static_cast<std::size_t>(signal)];
}

bool is_watched(int signal) noexcept {
  return std::find(kWatched.begin(), kWatched.end(), signal) != kWatched.end();
}

/// Raised by an instruction of this thread, which will raise it again.
bool is_fault(int signal, const siginfo_t& info) noexcept {
  return info.si_code > 0 &&
         (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL);
}

void restore_default(int signal) noexcept {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  real_sigaction(signal, &action, nullptr);
}

/// Makes `signal` do what it does by default once the handler returns.
void let_signal_act(int signal, const siginfo_t& info) noexcept {
  restore_default(signal);
  if (is_fault(signal, info)) return;
  ::syscall(SYS_tgkill, os::current_process_id(), os::current_thread_id(), signal);
}

/// On the report's thread: the signalled one could not wait.
void end_by_signal() noexcept {
  const int signal = fatal_signal.load();
  restore_default(signal);
  for (;;) ::syscall(SYS_kill, os::current_process_id(), signal);
}

void on_fatal_signal(int signal, siginfo_t* info, void*) {
  const os::ErrorPreserver preserve_error;
  if (!report_owed()) return let_signal_act(signal, *info);
  const bool must_run_on = inside_tracker();
  if (must_run_on && is_fault(signal, *info)) {
    print_line("the program crashed inside the tracker; there is no report");
    return let_signal_act(signal, *info);
  }
  int none = 0;
  fatal_signal.compare_exchange_strong(none, signal);
  RecordingGate::halt();
  request_report();
  // A thread inside the tracker has to run on, until it leaves and stops there.
  if (must_run_on) return end_process_after_report(&end_by_signal);
  wait_for_report();
  let_signal_act(signal, *info);
}

void take_over(int signal) noexcept {
  struct sigaction action{};
  action.sa_sigaction = &on_fatal_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  ::sigfillset(&action.sa_mask);
  real_sigaction(signal, &action, nullptr);
}

/// A stack that overflows leaves no room for a handler.
void provide_signal_stack() noexcept {
  constexpr std::size_t kBytes = 64 * 1024;
  alignas(16) static constinit std::array<char, kBytes> memory{};
  stack_t present{};
  if (::sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
  const stack_t stack{.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
  ::sigaltstack(&stack, nullptr);
}

bool is_ours(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &on_fatal_signal;
}

bool is_default(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

}  // namespace

void watch_fatal_signals() noexcept {
  fatal_signal.store(0);
  provide_signal_stack();
  watching.store(true, std::memory_order_release);
  for (const int signal : kWatched) keep_watching(signal);
}

void stop_watching_fatal_signals() noexcept {
  watching.store(false, std::memory_order_release);
  for (const int signal : kWatched) {
    struct sigaction present{};
    real_sigaction(signal, nullptr, &present);
    if (is_ours(present)) real_sigaction(signal, &program_action(signal), nullptr);
  }
}

void keep_watching(int signal) noexcept {
  if (!is_watched(signal) || !watching.load(std::memory_order_acquire)) return;
  struct sigaction present{};
  if (real_sigaction(signal, nullptr, &present) != 0 || !is_default(present)) return;
  program_action(signal) = present;
  take_over(signal);
}

void show_as_program_sees(int signal, struct sigaction& action) noexcept {
  if (is_ours(action)) action = program_action(signal);
}

SignalHandler show_as_program_sees(SignalHandler handler) noexcept {
  const auto ours = reinterpret_cast<SignalHandler>(reinterpret_cast<void*>(&on_fatal_signal));
  return handler == ours ? SIG_DFL : handler;
}

void yield_to_fatal_signal() noexcept {
  if (fatal_signal.load(std::memory_order_acquire) == 0) return;
  const std::atomic<std::uint32_t> never{0};
  for (;;) os::futex_wait(never, 0);
}

}  // namespace alloctap::run
