#pragma once

#include <chrono>
#include <condition_variable>
#include <initializer_list>
#include <mutex>
#include <thread>

namespace corpus {

/// Which thread misuses a block that the main thread allocated.
enum class Thread { kMain, kOther };

inline constexpr std::initializer_list<Thread> kBothThreads = {Thread::kMain, Thread::kOther};

inline const char* name_of(Thread thread) {
  return thread == Thread::kMain ? "main" : "other_thread";
}

/// Returns when `body` has, and the other thread, if there was one, is gone.
template <typename Body>
void run_on(Thread thread, const Body& body) {
  if (thread == Thread::kMain) {
    body();
    return;
  }
  std::thread{[&body] { body(); }}.join();
}

/// For one thread to tell another that it has come as far as it should. Not by atomic's wait, which
/// misses notifications where libstdc++ 12 has no futex.
class Signal {
 public:
  void send() {
    const std::lock_guard lock{mutex_};
    is_sent_ = true;
    condition_.notify_one();
  }

  /// Returns when send() was called since the last wait().
  void wait() {
    std::unique_lock lock{mutex_};
    condition_.wait(lock, [this] { return is_sent_; });
    is_sent_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool is_sent_ = false;
};

/// Starts a thread that runs `body`, which sends the signal and does not return while the process
/// lives; returns when it was sent.
template <typename Body>
void start_living_thread(const Body& body) {
  static Signal is_ready;
  std::thread{[body] { body(is_ready); }}.detach();
  is_ready.wait();
}

[[noreturn]] inline void sleep_for_ever() {
  for (;;) {
    std::this_thread::sleep_for(std::chrono::hours{1});
  }
}

}  // namespace corpus
