#include "alloctap/os/errno_guard.hpp"

#include <doctest/doctest.h>

#include <cerrno>

TEST_CASE("an error number survives what happens in between") {
  errno = EEXIST;
  {
    const alloctap::os::ErrnoGuard preserve;
    errno = ENOMEM;
  }
  CHECK(errno == EEXIST);
}
