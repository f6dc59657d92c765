#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <thread>

#include "alloctap/runtime/file_contents.hpp"
#include "tests/support/temporary_directory.hpp"

using alloctap::ArenaArray;
using alloctap::read_file;
using alloctap::testing::TemporaryDirectory;

TEST_CASE("a pipe is read until its writer is done") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("pipe");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const std::string text = std::string(500'000, 'x');
  std::thread writer([&] { std::ofstream(path) << text; });
  ArenaArray<char> contents;
  CHECK(read_file(path.c_str(), 1 << 30, contents) == 0);
  writer.join();
  CHECK(alloctap::text_of(contents) == text);
}

TEST_CASE("a device without an end is too much, and a directory is no file") {
  const TemporaryDirectory directory;
  ArenaArray<char> contents;
  CHECK(read_file("/dev/zero", 1 << 20, contents) == -EFBIG);
  CHECK(read_file(directory.file("").c_str(), 3, contents) == -EISDIR);
}
