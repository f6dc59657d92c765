#include "report_thread.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <alloctap/guard/reentrancy_guard.hpp>
#include <alloctap/guard/thread_state.hpp>
#include <alloctap/os/clock.hpp>
#include <alloctap/os/error_preserver.hpp>
#include <alloctap/os/futex.hpp>
#include <alloctap/os/worker_thread.hpp>
#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "children_hint.hpp"
#include "final_report.hpp"
#include "report_triggers.hpp"
#include "single_threaded.hpp"
#include "tracker_calls.hpp"

namespace alloctap::run {
namespace {

constexpr std::uint32_t kRequested = 1;
constexpr std::uint32_t kWritten = 2;
constexpr std::uint32_t kEndWanted = 4;
constexpr std::uint32_t kDumpWanted = 8;

constinit std::atomic<std::uint32_t> state{0};
using End = void (*)() noexcept;
constinit std::atomic<End> end_process{nullptr};
constinit std::atomic<bool> main_thread_left{false};
constinit os::WorkerThread thread;

void set(std::uint32_t bit) noexcept {
  state.fetch_or(bit, std::memory_order_release);
  os::futex_wake_all(state);
}

void wait_until(std::uint32_t bit) noexcept {
  for (auto now = state.load(std::memory_order_acquire); (now & bit) == 0;
       now = state.load(std::memory_order_acquire)) {
    os::futex_wait(state, now);
  }
}

/// Beside this thread there is only what the kernel keeps of the main one.
bool is_last_thread() noexcept {
  struct stat tasks{};
  return ::stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 2 + 2;
}

/// False where the process has no thread left that could ask. Nobody tells of the end of a thread,
/// so once the main one has gone the others are counted again and again.
bool wait_for_request() noexcept {
  constexpr std::int64_t kCountInterval = 10'000'000;
  ReportTriggers triggers(os::monotonic_ns());
  for (auto now = state.load(std::memory_order_acquire); (now & kRequested) == 0;
       now = state.load(std::memory_order_acquire)) {
    const bool counting = main_thread_left.load(std::memory_order_acquire);
    if (counting && is_last_thread()) return false;
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

void serve(void*) noexcept {
  if (wait_for_request()) serve_report();
  // As the last thread of the program would have done; what it runs writes the report here.
  thread.forget();
  std::exit(0);
}

}  // namespace

bool start_report_thread() noexcept {
  const ReentrancyGuard guard;
  thread.forget();
  main_thread_left.store(false);
  state.store(0);
  const SingleThreadedKept kept;
  const int error = thread.start(&serve, nullptr);
  if (error == 0) return true;
  print_line("cannot start a thread: there will be no report if a signal ends the program");
  return false;
}

void request_dump() noexcept { set(kDumpWanted); }

void request_report() noexcept { set(kRequested); }

void wait_for_report() noexcept { wait_until(kWritten); }

void settle_report() noexcept {
  if (!report_owed()) return;
  const os::ErrorPreserver preserve_error;
  if (holds_tracker_lock()) {
    forgive_report();
    return print_line("the program ended inside the tracker; there is no report");
  }
  ThreadStates::abandon_section();
  const bool has_children = has_untracked_children();
  if (thread.running()) {
    request_report();
    wait_for_report();
  } else if ((state.fetch_or(kRequested) & kRequested) == 0) {
    write_report();
    set(kWritten);
  }
  if (has_children && did_little_else()) print_line(kChildrenHint);
}

bool report_written() noexcept { return (state.load(std::memory_order_acquire) & kWritten) != 0; }

void sleep_for_ever() noexcept {
  const std::atomic<std::uint32_t> never{0};
  for (;;) os::futex_wait(never, 0);
}

void end_with_last_thread() noexcept {
  main_thread_left.store(true, std::memory_order_release);
  os::futex_wake_all(state);
}

void end_process_after_report(void (*end)() noexcept) noexcept {
  end_process.store(end);
  set(kEndWanted);
}

}  // namespace alloctap::run
