#include <doctest/doctest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstdint>

#include "alloctap/os/thread.hpp"

namespace {

namespace os = alloctap::os;

struct Report {
  os::ThreadId thread = 0;
  bool signals_blocked = false;
  std::atomic<int> runs{0};
};

void write_report(void* argument) noexcept {
  auto* report = static_cast<Report*>(argument);
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  report->thread = os::current_thread_id();
  report->signals_blocked =
      sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGRTMAX) == 1;
  ++report->runs;
}

}  // namespace

TEST_CASE("a worker runs its body on another thread with the program's signals blocked") {
  sigset_t before;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  Report report;
  os::WorkerThread worker;
  REQUIRE(worker.start(&write_report, &report) == 0);
  CHECK(worker.running());
  worker.join();
  CHECK_FALSE(worker.running());
  CHECK(report.thread != 0);
  CHECK(report.thread != os::current_thread_id());
  CHECK(report.signals_blocked);
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  CHECK(sigismember(&after, SIGINT) == sigismember(&before, SIGINT));
}

TEST_CASE("a worker can run again, and joining none does nothing") {
  Report report;
  os::WorkerThread worker;
  worker.join();
  for (int i = 0; i < 2; ++i) {
    REQUIRE(worker.start(&write_report, &report) == 0);
    worker.join();
    worker.join();
  }
  CHECK(report.runs == 2);
}
