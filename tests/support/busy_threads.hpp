/// Threads that do the same again and again while a test does something else.
#pragma once

#if defined(_WIN32)
#include "alloctap/os/windows/api.hpp"
#else
#include <unistd.h>
#endif

#include <atomic>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace alloctap::testing {

/// `count` threads that call `round(number of the thread)` until this is stopped or destroyed.
class BusyThreads {
 public:
  BusyThreads(unsigned count, std::function<void(unsigned)> round) : round_(std::move(round)) {
    for (unsigned i = 0; i < count; ++i) threads_.emplace_back([this, i] { run(i); });
  }
  ~BusyThreads() { stop(); }
  BusyThreads(const BusyThreads&) = delete;
  BusyThreads& operator=(const BusyThreads&) = delete;

  void stop() {
    stopping_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  void run(unsigned number) {
    yield_to_tests();
    while (!stopping_) round_(number);
  }

  /// Of this thread alone; the one that tests gets its turn more often.
  static void yield_to_tests() {
#if defined(_WIN32)
    ::SetThreadPriority(::GetCurrentThread(), THREAD_PRIORITY_BELOW_NORMAL);
#else
    static_cast<void>(nice(5));
#endif
  }

  std::function<void(unsigned)> round_;
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
};

}  // namespace alloctap::testing
