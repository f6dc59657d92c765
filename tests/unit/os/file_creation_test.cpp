#include <doctest/doctest.h>

#include <cerrno>
#include <string>

#include "alloctap/os/file.hpp"
#include "tests/support/dumped_file.hpp"
#include "tests/support/temporary_directory.hpp"

namespace os = alloctap::os;
using namespace alloctap::testing;

TEST_CASE("a file is created, and refused where one exists") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a");
  fill(path, "mine");
  int error = 0;
  const os::File second = os::create_for_writing(path.c_str(), error);
  CHECK(error == -EEXIST);
  CHECK_FALSE(second.is_open());
  CHECK(content(path) == "mine");
}

TEST_CASE("appending keeps what is there and creates nothing") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a");
  int error = 0;
  CHECK_FALSE(os::open_for_appending(path.c_str(), error).is_open());
  CHECK(error == -ENOENT);
  fill(path, "first, ");
  const os::File file = os::open_for_appending(path.c_str(), error);
  CHECK(error == 0);
  CHECK(os::write_all(file.descriptor(), "then") == 0);
  CHECK(content(path) == "first, then");
}
