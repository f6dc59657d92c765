#include "report_thread.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <alloctap/arch/instructions.hpp>
#include <alloctap/os/clock.hpp>
#include <alloctap/os/futex.hpp>
#include <alloctap/os/thread.hpp>
#include <alloctap/os/thread_local.hpp>
#include <alloctap/runtime/reentrancy_guard.hpp>
#include <alloctap/runtime/thread_state.hpp>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "children_hint.hpp"
#include "confinement.hpp"
#include "final_report.hpp"
#include "leader_watch.hpp"
#include "report_triggers.hpp"
#include "single_threaded.hpp"
#include "tracker_calls.hpp"

namespace alloctap::run {
namespace {

constexpr std::uint32_t kRequested = 1;
constexpr std::uint32_t kWritten = 2;
constexpr std::uint32_t kEndWanted = 4;
constexpr std::uint32_t kDumpWanted = 8;
constexpr std::uint32_t kServing = 16;
constexpr std::uint32_t kStopWanted = 32;

constinit std::atomic<std::uint32_t> state{0};
using End = void (*)() noexcept;
constinit std::atomic<End> end_process{nullptr};
/// Whether a thread was there after the leader, which then does not say how the process ends.
constinit bool is_leader_outlived = false;
/// Whether the C library calls exit as if this thread did not exist.
constinit bool is_uncounted = false;
constinit os::WorkerThread thread;

void set(std::uint32_t bit) noexcept {
  state.fetch_or(bit, std::memory_order_release);
  if (may_call(SYS_futex)) os::futex_wake_all(state);
}

void wait_until(std::uint32_t bit) noexcept {
  for (auto now = state.load(std::memory_order_acquire); (now & bit) == 0;
       now = state.load(std::memory_order_acquire)) {
    // The other side is there within the interval at which it looks around.
    may_call(SYS_futex) ? os::futex_wait(state, now) : arch::pause();
  }
}

/// Whether the kernel has, beside this thread, only what is left of the leader.
bool is_last_thread() noexcept {
  struct stat tasks{};
  return ::stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 2 + 2;
}

/// Returns false where the program has no thread left. No event follows the end of a thread, so
/// once the leader has left, the others are counted at an interval.
bool wait_for_request() noexcept {
  constexpr std::int64_t kCountInterval = 10'000'000;
  ReportTriggers triggers(os::monotonic_ns());
  for (auto now = state.load(std::memory_order_acquire); (now & (kRequested | kStopWanted)) == 0;
       now = state.load(std::memory_order_acquire)) {
    const bool counting = leader_has_left();
    if (counting && is_last_thread()) return false;
    is_leader_outlived = counting;
    const bool asked =
        (state.fetch_and(~kDumpWanted, std::memory_order_acquire) & kDumpWanted) != 0;
    const std::int64_t next = triggers.serve(os::monotonic_ns(), asked);
    if ((now & kDumpWanted) != 0) continue;
    const std::int64_t left = std::max<std::int64_t>(next - os::monotonic_ns(), 0);
    os::futex_wait(state, now, counting ? std::min(left, kCountInterval) : left);
  }
  return true;
}

void serve_report() noexcept {
  const ReentrancyGuard guard;
  write_report();
  set(kWritten);
  wait_until(kEndWanted);
  end_process.load()();
}

/// On the thread that ends the program.
void write_report_unless_refused() noexcept {
  const char* const call = call_missing_for_reports();
  if (call == nullptr) return write_report();
  char line[160];
  const int length =
      std::snprintf(line, sizeof line,
                    "there is no report: the program's seccomp filter refuses %s; let "
                    "it allow the calls in docs/confined_programs.md",
                    call);
  print_line({line, static_cast<std::size_t>(length)});
}

/// All threads of the program have left, the last one past the C library or unseen by it.
[[noreturn]] void end_as_last_thread() noexcept {
  thread.forget();
  if (!is_uncounted) {
    sigset_t none;
    ::sigemptyset(&none);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
    // The program's last thread would have called it; its handler writes the report.
    std::exit(0);
  }
  settle_report();
  // The last thread's code is the process's (the leader's, before Linux 5.19).
  const int status = is_leader_outlived ? 0 : exit_code_of_leader();
  const int code = code_of_errors(status);
  if (code != status) ::syscall(SYS_exit_group, code);
  for (;;) ::syscall(SYS_exit, code);
}

void serve(void*) noexcept {
  set(kServing);
  const bool is_wanted = wait_for_request();
  // Past the C library, which does not count this thread.
  if ((state.load() & kStopWanted) != 0) ::syscall(SYS_exit, 0);
  if (is_wanted) serve_report();
  end_as_last_thread();
}

}  // namespace

bool start_report_thread() noexcept {
  const ReentrancyGuard guard;
  thread.forget();
  state.store(0);
  is_leader_outlived = false;
  watch_leader();
  const SingleThreadedKept kept;
  if (thread.start(&serve, nullptr) == 0) {
    is_uncounted = uncount_new_thread();
    return true;
  }
  print_line("cannot start a thread: there will be no report if a signal ends the program");
  return false;
}

void await_report_thread() noexcept {
  if (thread.running()) wait_until(kServing);
}

void stop_report_thread() noexcept {
  if (!thread.running()) return;
  set(kStopWanted);
  thread.join();
}

void request_dump() noexcept { set(kDumpWanted); }

void request_report() noexcept { set(kRequested); }

void wait_for_report() noexcept { wait_until(kWritten); }

void settle_report() noexcept {
  if (!report_owed()) return;
  const os::ErrnoGuard preserve_error;
  if (holds_tracker_lock()) {
    forgive_report();
    return print_line("the program ended inside the tracker; there is no report");
  }
  ThreadStates::abandon_section();
  const bool has_children = has_untracked_children();
  if (thread.running()) {
    // The report may be written before this thread waits for it.
    this_thread_slot().awaits_report.store(true);
    request_report();
    wait_for_report();
    this_thread_slot().awaits_report.store(false);
  } else if ((state.fetch_or(kRequested) & kRequested) == 0) {
    write_report_unless_refused();
    set(kWritten);
  }
  if (has_children && did_little_else()) print_line(kChildrenHint);
}

bool report_written() noexcept { return (state.load(std::memory_order_acquire) & kWritten) != 0; }

void sleep_for_ever() noexcept {
  const std::atomic<std::uint32_t> never{0};
  this_thread_slot().awaits_report.store(true);
  for (;;) os::futex_wait(never, 0);
}

void end_process_after_report(void (*end)() noexcept) noexcept {
  end_process.store(end);
  set(kEndWanted);
}

}  // namespace alloctap::run
