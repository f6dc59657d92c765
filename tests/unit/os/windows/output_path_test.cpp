#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "alloctap/os/file.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

namespace os = alloctap::os;
using alloctap::testing::TemporaryDirectory;

}  // namespace

TEST_CASE("a device of Windows is written through, and neither files nor directories are") {
  const TemporaryDirectory directory;
  std::ofstream(directory.file("a")) << "text";
  CHECK(os::is_written_through("NUL"));
  CHECK_FALSE(os::is_written_through(directory.file("a").c_str()));
  CHECK_FALSE(os::is_written_through(directory.file("").c_str()));
  CHECK_FALSE(os::is_written_through(directory.file("b").c_str()));
}
