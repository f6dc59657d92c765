#include "report_thread.hpp"

#include <alloctap/guard/reentrancy_guard.hpp>
#include <alloctap/os/error_preserver.hpp>
#include <alloctap/os/futex.hpp>
#include <alloctap/os/worker_thread.hpp>
#include <atomic>
#include <cstdint>

#include "final_report.hpp"

namespace alloctap::run {
namespace {

constexpr std::uint32_t kRequested = 1;
constexpr std::uint32_t kWritten = 2;
constexpr std::uint32_t kEndWanted = 4;

constinit std::atomic<std::uint32_t> state{0};
using End = void (*)() noexcept;
constinit std::atomic<End> end_process{nullptr};
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

void serve(void*) noexcept {
  const ReentrancyGuard guard;
  wait_until(kRequested);
  write_report();
  set(kWritten);
  wait_until(kEndWanted);
  end_process.load()();
}

}  // namespace

bool start_report_thread() noexcept {
  const ReentrancyGuard guard;
  thread.forget();
  state.store(0);
  const int error = thread.start(&serve, nullptr);
  if (error == 0) return true;
  print_line("cannot start a thread: there will be no report if a signal ends the program");
  return false;
}

void request_report() noexcept { set(kRequested); }

void wait_for_report() noexcept { wait_until(kWritten); }

void settle_report() noexcept {
  if (!report_owed()) return;
  const os::ErrorPreserver preserve_error;
  if (thread.running()) {
    request_report();
    wait_for_report();
  } else if ((state.fetch_or(kRequested) & kRequested) == 0) {
    write_report();
  }
}

void end_process_after_report(void (*end)() noexcept) noexcept {
  end_process.store(end);
  set(kEndWanted);
}

}  // namespace alloctap::run
