/// Threads that work for the game, whose memory is put down to whoever asked for the work.
#pragma once

#include <alloctap/annotate.hpp>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace game {

class JobThreads {
 public:
  explicit JobThreads(int count) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
  }
  ~JobThreads() {
    {
      const std::lock_guard hold(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  JobThreads(const JobThreads&) = delete;
  JobThreads& operator=(const JobThreads&) = delete;

  /// Runs `job` once on each thread, and waits for them.
  void run(std::function<void()> job) {
    std::unique_lock hold(mutex_);
    job_ = std::move(job);
    tag_ = alloctap::current_tag();
    ++round_;
    left_ = threads_.size();
    changed_.notify_all();
    changed_.wait(hold, [this] { return left_ == 0; });
    job_ = nullptr;
  }

 private:
  void work() {
    int done = 0;
    std::unique_lock hold(mutex_);
    for (;;) {
      changed_.wait(hold, [&] { return ends_ || round_ != done; });
      if (ends_) return;
      done = round_;
      hold.unlock();
      {
        const alloctap::tag_scope job{tag_};
        job_();
      }
      hold.lock();
      if (--left_ == 0) changed_.notify_all();
    }
  }

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;
  alloctap::Tag tag_;
  int round_ = 0;
  std::size_t left_ = 0;
  bool ends_ = false;
};

}  // namespace game
