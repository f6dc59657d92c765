#include "report_thread.hpp"

#include <algorithm>
#include <alloctap/os/clock.hpp>
#include <alloctap/os/futex.hpp>
#include <alloctap/os/thread.hpp>
#include <alloctap/os/thread_local.hpp>
#include <alloctap/runtime/reentrancy_guard.hpp>
#include <alloctap/runtime/thread_state.hpp>
#include <atomic>
#include <cstdint>

#include "preload/final_report.hpp"
#include "preload/report_triggers.hpp"

namespace alloctap::run {
namespace {

constexpr std::uint32_t kDumpWanted = 1;
constexpr std::uint32_t kEnding = 2;
constexpr std::uint32_t kIdle = 4;
constexpr std::uint32_t kWritten = 8;
/// Of the last report: by the thread itself.
constexpr std::uint32_t kWantedHere = 16;

constinit std::atomic<std::uint32_t> state{kIdle};
constinit os::WorkerThread thread;

void set(std::uint32_t bit) noexcept {
  state.fetch_or(bit, std::memory_order_release);
  os::futex_wake_all(state);
}

/// Returns by `deadline`, a time of `os::monotonic_ns`, in any case.
void wait_until(std::uint32_t bit, std::int64_t deadline = INT64_MAX) noexcept {
  for (auto now = state.load(std::memory_order_acquire); (now & bit) == 0;
       now = state.load(std::memory_order_acquire)) {
    const std::int64_t left = deadline - os::monotonic_ns();
    if (left <= 0) return;
    os::futex_wait(state, now, left);
  }
}

void serve(void*) noexcept {
  const ReentrancyGuard guard;
  ReportTriggers triggers(os::monotonic_ns());
  for (auto now = state.load(std::memory_order_acquire); (now & kEnding) == 0;
       now = state.load(std::memory_order_acquire)) {
    const bool asked =
        (state.fetch_and(~(kDumpWanted | kIdle), std::memory_order_acquire) & kDumpWanted) != 0;
    const std::int64_t next = triggers.serve(os::monotonic_ns(), asked);
    set(kIdle);
    now = state.load(std::memory_order_acquire);
    if ((now & (kEnding | kDumpWanted)) != 0) continue;
    os::futex_wait(state, now, std::max<std::int64_t>(next - os::monotonic_ns(), 0));
  }
  if ((state.load() & kWantedHere) == 0) return;
  write_report();
  set(kWritten);
}

}  // namespace

bool start_report_thread() noexcept {
  const ReentrancyGuard guard;
  if (thread.start(&serve, nullptr) == 0) return true;
  print_line("cannot start a thread: there will be no report but the last");
  return false;
}

void request_dump() noexcept { set(kDumpWanted); }

void settle_report() noexcept {
  if (!report_owed()) return;
  const os::ErrnoGuard preserve_error;
  const ReentrancyGuard guard;
  if ((state.fetch_or(kEnding) & kEnding) != 0) return wait_until(kWritten);
  os::futex_wake_all(state);
  // A report that is being written now comes before.
  wait_until(kIdle);
  write_report();
  set(kWritten);
}

void settle_report_alone() noexcept {
  if (!report_owed() || (state.fetch_or(kEnding) & kEnding) != 0) return;
  const ReentrancyGuard guard;
  write_report();
}

void settle_report_elsewhere() noexcept {
  constexpr std::int64_t kTimeoutNs = 10'000'000'000;
  if (!report_owed()) return;
  const os::ErrnoGuard preserve_error;
  if (!thread.running()) return settle_report();
  if ((state.fetch_or(kEnding | kWantedHere) & kEnding) == 0) os::futex_wake_all(state);
  wait_until(kWritten, os::monotonic_ns() + kTimeoutNs);
}

}  // namespace alloctap::run
