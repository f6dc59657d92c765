#include <doctest/doctest.h>

#include <thread>

#include "alloctap/os/thread.hpp"

namespace os = alloctap::os;

TEST_CASE("a thread has an id of its own and is alive") {
  const os::ThreadId mine = os::current_thread_id();
  os::ThreadId other = mine;
  bool other_alive = false;
  std::thread([&] {
    other = os::current_thread_id();
    other_alive = os::thread_is_alive(other) && os::thread_is_alive(mine);
  }).join();
  CHECK(other != mine);
  CHECK(other_alive);
  CHECK(os::thread_is_alive(mine));
}
