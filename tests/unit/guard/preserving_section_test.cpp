#include "alloctap/guard/preserving_section.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <thread>

namespace {

using alloctap::PreservingSection;
using alloctap::ThreadState;
using alloctap::ThreadStates;

/// What errno is after a section in which it became something else.
int error_after_section(int error) {
  errno = error;
  {
    const PreservingSection section;
    errno = ENOMEM;
  }
  return errno;
}

}  // namespace

TEST_CASE("a preserving section is a recording section of the calling thread") {
  const ThreadState* const mine = ThreadStates::mine();
  REQUIRE(mine != nullptr);
  {
    const PreservingSection section;
    CHECK(section.thread() == mine);
    CHECK(mine->recording == 1);
  }
  CHECK(mine->recording == 0);
}

TEST_CASE("an error number survives a preserving section, on every thread its own") {
  int seen = 0;
  CHECK(error_after_section(EEXIST) == EEXIST);
  std::thread([&] { seen = error_after_section(EISDIR); }).join();
  CHECK(seen == EISDIR);
  CHECK(error_after_section(EAGAIN) == EAGAIN);
}

TEST_CASE("a thread that takes over the state of an ended one has its own error number") {
  for (int i = 0; i < 100; ++i) {
    int seen = 0;
    std::thread([&] { seen = error_after_section(EISDIR); }).join();
    CHECK(seen == EISDIR);
  }
}

TEST_CASE("an error number survives the making of a thread's state") {
  int seen = 0;
  std::thread([&] {
    errno = EISDIR;
    static_cast<void>(ThreadStates::mine());
    seen = errno;
  }).join();
  CHECK(seen == EISDIR);
}
