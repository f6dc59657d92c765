#include "fatal_signals.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <alloctap/macros.hpp>
#include <alloctap/os/memory_faults.hpp>
#include <alloctap/os/patched_code.hpp>
#include <alloctap/os/thread_local.hpp>
#include <alloctap/runtime/thread_state.hpp>
#include <array>
#include <atomic>
#include <cstdio>
#include <string_view>

#include "final_report.hpp"
#include "report_thread.hpp"
#include "signal_functions.hpp"
#include "signal_stacks.hpp"
#include "tracker_calls.hpp"

namespace alloctap::run {
namespace {

/// Every signal whose default action ends the process (signal(7)), but for SIGKILL and the
/// real-time ones.
constexpr std::array kWatched{SIGHUP,  SIGINT,  SIGQUIT, SIGILL,   SIGTRAP,   SIGABRT,
                              SIGBUS,  SIGFPE,  SIGUSR1, SIGSEGV,  SIGUSR2,   SIGPIPE,
                              SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ,  SIGVTALRM, SIGPROF,
                              SIGIO,   SIGPWR,  SIGSYS,  SIGSTKFLT};

constinit std::atomic<int> fatal_signal{0};
constinit std::atomic<bool> watching{false};

/// What the program last asked for where an action of ours stands for it.
constinit std::array<struct sigaction, NSIG> program_actions{};

struct sigaction& program_action(int signal) noexcept {
  return program_actions[static_cast<std::size_t>(signal)];
}

bool is_watched(int signal) noexcept {
  return std::find(kWatched.begin(), kWatched.end(), signal) != kWatched.end();
}

bool is_default(const struct sigaction& action) noexcept { return action.sa_handler == SIG_DFL; }

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
  // The program's threads may have left, or block it.
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  for (;;) ::syscall(SYS_kill, os::current_process_id(), signal);
}

/// Whether the access that was refused was of a guard page and may be made again; then, and where
/// it may not, it was told of.
bool is_settled(int signal, const siginfo_t& info, const void* context) noexcept {
  if (signal != SIGSEGV || !report_owed()) return false;
  const os::ErrnoGuard preserve_error;
  const os::MemoryFault fault = os::fault_of(info, context);
  return fault.address != 0 && os::ask_fault_listeners(fault) == os::FaultVerdict::kRetry;
}

void on_fatal_signal(int signal, siginfo_t* info, void* context) {
  const os::ErrnoGuard preserve_error;
  if (!report_owed()) return let_signal_act(signal, *info);
  if (is_settled(signal, *info, context)) return;
  const bool must_run_on = inside_tracker();
  if (must_run_on && is_fault(signal, *info)) {
    print_line("the program crashed inside the tracker; there is no report");
    return let_signal_act(signal, *info);
  }
  int none = 0;
  const bool first = fatal_signal.compare_exchange_strong(none, signal);
  WorldGate::halt();
  request_report();
  // A thread inside the tracker has to run on, until it leaves and stops there.
  if (must_run_on) return end_process_after_report(&end_by_signal);
  wait_for_report();
  if (!first) sleep_for_ever();
  let_signal_act(signal, *info);
}

/// The signal of --signal, at its default action.
void on_dump_signal(int signal, siginfo_t* info, void*) {
  const os::ErrnoGuard preserve_error;
  if (!report_owed()) return let_signal_act(signal, *info);
  request_dump();
}

bool asks_for_dump(int signal) noexcept { return signal == report_settings().dump_signal; }

/// The program gave the signal of --signal an action of its own, which is all that happens then.
void warn_of_taken_signal(int signal) noexcept {
  static constinit std::atomic<bool> told{false};
  if (!asks_for_dump(signal) || !report_owed() || told.exchange(true)) return;
  const os::ErrnoGuard preserve_error;
  const std::string_view name = name_of_dump_signal(signal);
  char line[96];
  const int length = std::snprintf(line, sizeof line,
                                   "the program has its own action for SIG%.*s: no reports on it",
                                   static_cast<int>(name.size()), name.data());
  print_line({line, static_cast<std::size_t>(length)});
}

void call_action(const struct sigaction& action, int signal, siginfo_t* info, void* context) {
  if ((action.sa_flags & SA_SIGINFO) != 0) return action.sa_sigaction(signal, info, context);
  action.sa_handler(signal);
}

/// In front of a handler of the program's, for faults of guard pages.
void on_handled_signal(int signal, siginfo_t* info, void* context) {
  if (!is_settled(signal, *info, context)) {
    call_action(program_action(signal), signal, info, context);
  }
}

/// What SA_RESETHAND does; done by the system, it would leave the default action behind unseen.
void on_one_shot_signal(int signal, siginfo_t* info, void* context) {
  const struct sigaction action = program_action(signal);
  if (is_settled(signal, *info, context)) return;
  // It may be that another thread was here first.
  if (is_default(action)) return on_fatal_signal(signal, info, context);
  struct sigaction next = action;
  next.sa_handler = SIG_DFL;
  real_sigaction(signal, &next, nullptr);
  keep_watching(signal);
  call_action(action, signal, info, context);
}

/// That of patched functions too, which brings the default action back for what is none of theirs.
bool is_ours(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 &&
         (action.sa_sigaction == &on_fatal_signal || action.sa_sigaction == &on_one_shot_signal ||
          action.sa_sigaction == &on_handled_signal || action.sa_sigaction == &on_dump_signal ||
          action.sa_sigaction == &os::handle_trap);
}

bool is_one_shot(const struct sigaction& action) noexcept {
  return (action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0 && action.sa_handler != SIG_IGN;
}

/// Whether a handler of the program's has its turn after ours.
bool comes_second(int signal, const struct sigaction& action) noexcept {
  return signal == SIGSEGV && has_guard_pages() && action.sa_handler != SIG_IGN && !is_ours(action);
}

struct sigaction stand_in_for(int signal, const struct sigaction& action) noexcept {
  struct sigaction stand_in = action;
  if (is_default(action)) {
    stand_in.sa_sigaction = asks_for_dump(signal) ? &on_dump_signal : &on_fatal_signal;
    stand_in.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    ::sigfillset(&stand_in.sa_mask);
  } else {
    stand_in.sa_sigaction = is_one_shot(action) ? &on_one_shot_signal : &on_handled_signal;
    stand_in.sa_flags |= SA_SIGINFO;
    stand_in.sa_flags &= ~static_cast<int>(SA_RESETHAND);
  }
  return stand_in;
}

}  // namespace

void watch_fatal_signals() noexcept {
  fatal_signal.store(0);
  provide_signal_stack();
  watching.store(true, std::memory_order_release);
  for (const int signal : kWatched) keep_watching(signal);
}

void stop_watching_fatal_signals() noexcept {
  if (!watching.exchange(false)) return;
  for (const int signal : kWatched) {
    struct sigaction present{};
    real_sigaction(signal, nullptr, &present);
    if (is_ours(present)) real_sigaction(signal, &program_action(signal), nullptr);
  }
}

void keep_watching(int signal) noexcept {
  if (!is_watched(signal) || !watching.load(std::memory_order_acquire)) return;
  struct sigaction present{};
  if (real_sigaction(signal, nullptr, &present) != 0) return;
  if (!is_default(present) && !is_ours(present)) warn_of_taken_signal(signal);
  if (!is_default(present) && !is_one_shot(present) && !comes_second(signal, present)) return;
  program_action(signal) = present;
  const struct sigaction stand_in = stand_in_for(signal, present);
  struct sigaction replaced{};
  real_sigaction(signal, &stand_in, &replaced);
  // Another thread may have been faster.
  if (replaced.sa_handler != present.sa_handler) real_sigaction(signal, &replaced, nullptr);
}

void show_as_program_sees(int signal, struct sigaction& action) noexcept {
  if (is_ours(action)) action = program_action(signal);
}

SignalHandler show_as_program_sees(int signal, SignalHandler handler) noexcept {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_SIGINFO;
  return is_ours(action) ? program_action(signal).sa_handler : handler;
}

void yield_to_fatal_signal() noexcept {
  if (fatal_signal.load(std::memory_order_acquire) != 0) sleep_for_ever();
}

}  // namespace alloctap::run
