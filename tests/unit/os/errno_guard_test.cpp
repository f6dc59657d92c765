#include <doctest/doctest.h>

#include <cerrno>

#include "alloctap/os/thread_local.hpp"

TEST_CASE("an error number survives what happens in between") {
  errno = EEXIST;
  {
    const alloctap::os::ErrnoGuard preserve;
    errno = ENOMEM;
  }
  CHECK(errno == EEXIST);
}
