#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/status.hpp"
#include "tests/support/temporary_directory.hpp"

using alloctap::DescriptorOutput;
using alloctap::testing::TemporaryDirectory;

TEST_CASE("the text goes through the descriptor, which stays open") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("log");
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  {
    DescriptorOutput output(descriptor);
    REQUIRE(output.open().ok());
    CHECK(output.write("one, ").ok());
    CHECK(output.write("two").ok());
    CHECK(output.commit().ok());
  }
  CHECK(write(descriptor, ".", 1) == 1);
  CHECK(close(descriptor) == 0);
  std::ifstream file(path);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == "one, two.");
}

TEST_CASE("a descriptor that takes nothing is named with the cause") {
  DescriptorOutput closed(987654);
  CHECK(closed.open().ok());
  CHECK(closed.write("text") ==
        alloctap::Status::unavailable(
            "cannot write the dump to descriptor 987654: Bad file descriptor"));
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  DescriptorOutput output(full);
  const alloctap::Status status = output.write("text");
  CHECK(std::string(status.message()).ends_with(": No space left on device"));
  close(full);
}
