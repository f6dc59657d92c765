#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <thread>

#include "alloctap/os/thread.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "tests/support/thread_name.hpp"

namespace {

using alloctap::name_threads;
using alloctap::ThreadSummary;
namespace os = alloctap::os;

/// A thread with a name that lives until the test ends. Both sides look again and again:
/// std::atomic::wait of libstdc++ 12 can miss its notification on Windows, where it has no futex.
class NamedThread {
 public:
  explicit NamedThread(const char* name) {
    thread_ = std::thread([this, name] {
      alloctap::testing::name_this_thread(name);
      id_ = os::current_thread_id();
      while (!done_) std::this_thread::yield();
    });
    while (id_ == 0) std::this_thread::yield();
  }
  ~NamedThread() {
    done_ = true;
    thread_.join();
  }
  [[nodiscard]] os::ThreadId id() const { return id_; }

 private:
  std::atomic<os::ThreadId> id_{0};
  std::atomic<bool> done_{false};
  std::thread thread_;
};

constexpr os::ThreadId kNoThread = 0x7FFFFFFF;

}  // namespace

TEST_CASE("a thread that exists has the name that the system knows") {
  const NamedThread worker("loads levels");
  std::array<ThreadSummary, 1> threads{ThreadSummary{.thread_id = worker.id()}};
  name_threads(threads);
  CHECK(threads[0].alive);
  CHECK(threads[0].name() == "loads levels");
}

TEST_CASE("the longest name that the system allows is whole") {
  const NamedThread worker("fifteen letters");
  std::array<ThreadSummary, 1> threads{ThreadSummary{.thread_id = worker.id()}};
  name_threads(threads);
  CHECK(threads[0].name() == "fifteen letters");
}

TEST_CASE("a thread that ended has no name") {
  std::array<ThreadSummary, 1> threads{ThreadSummary{.thread_id = kNoThread}};
  name_threads(threads);
  CHECK_FALSE(threads[0].alive);
  CHECK(threads[0].name().empty());
}

TEST_CASE("of two threads with one id, the later one is the one that exists") {
  const NamedThread worker("loads levels");
  std::array<ThreadSummary, 2> threads{ThreadSummary{.thread_id = worker.id()},
                                       ThreadSummary{.thread_id = worker.id()}};
  name_threads(threads);
  CHECK_FALSE(threads[0].alive);
  CHECK(threads[0].name().empty());
  CHECK(threads[1].alive);
  CHECK_FALSE(threads[1].name().empty());
}
