#include "alloctap/os/thread.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>

#include "alloctap/os/futex.hpp"
#include "tests/support/thread_name.hpp"

namespace {

namespace os = alloctap::os;

std::string name_of(os::ThreadId id, std::size_t room) {
  std::string name(room, '\0');
  name.resize(os::thread_name(id, name));
  return name;
}

}  // namespace

TEST_CASE("a thread of Windows that has ended is not alive, nor is one that never was") {
  os::ThreadId ended = 0;
  std::thread([&] { ended = os::current_thread_id(); }).join();
  CHECK_FALSE(os::thread_is_alive(ended));
  CHECK_FALSE(os::thread_is_alive(0));
}

TEST_CASE("the name of a thread of Windows is cut to the room") {
  os::ThreadId id = 0;
  std::string whole;
  std::string cut;
  std::thread([&] {
    id = os::current_thread_id();
    alloctap::testing::name_this_thread("loads levels");
    whole = name_of(id, 64);
    cut = name_of(id, 9);
  }).join();
  CHECK(whole == "loads levels");
  CHECK(whole.starts_with(cut));
  CHECK(cut.size() >= 3);
  CHECK(cut.size() <= 9);
  CHECK(name_of(id, 64).empty());
}

TEST_CASE("each thread has a pointer of its own") {
  const std::uintptr_t mine = os::thread_pointer();
  std::uintptr_t other = 0;
  std::thread([&] { other = os::thread_pointer(); }).join();
  CHECK(mine != 0);
  CHECK(other != 0);
  CHECK(other != mine);
}

TEST_CASE("a worker of Windows runs its body on another thread, again and again") {
  struct Report {
    os::ThreadId thread = 0;
    std::atomic<int> runs{0};
  } report;
  os::WorkerThread worker;
  worker.join();
  for (int i = 0; i < 2; ++i) {
    const int error = worker.start(
        [](void* argument) noexcept {
          auto& seen = *static_cast<Report*>(argument);
          seen.thread = os::current_thread_id();
          ++seen.runs;
        },
        &report);
    REQUIRE(error == 0);
    CHECK(worker.running());
    worker.join();
    CHECK_FALSE(worker.running());
  }
  CHECK(report.runs == 2);
  CHECK(report.thread != os::current_thread_id());
}
