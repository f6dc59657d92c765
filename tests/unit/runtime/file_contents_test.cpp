#include "alloctap/runtime/file_contents.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "tests/support/exhausted_arena.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using alloctap::ArenaArray;
using alloctap::read_file;
using alloctap::text_of;
using alloctap::testing::StarvedArena;
using alloctap::testing::TemporaryDirectory;

std::string numbers(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += std::to_string(i) + '\n';
  return text;
}

std::string write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

}  // namespace

TEST_CASE("all of a file is read, whatever its size") {
  const TemporaryDirectory directory;
  for (const int count : {0, 1, 10'000, 300'000}) {
    const std::string text = numbers(count);
    const std::string path = write(directory.file("numbers"), text);
    ArenaArray<char> contents;
    CHECK(read_file(path.c_str(), text.size(), contents) == 0);
    CHECK(text_of(contents) == text);
  }
}

TEST_CASE("a file is added to what is there") {
  const TemporaryDirectory directory;
  const std::string path = write(directory.file("a"), "b");
  ArenaArray<char> contents;
  REQUIRE(contents.push_back('a'));
  CHECK(read_file(path.c_str(), 10, contents) == 0);
  CHECK(text_of(contents) == "ab");
}

TEST_CASE("what is too much or absent is an error") {
  const TemporaryDirectory directory;
  const std::string path = write(directory.file("a"), "four");
  ArenaArray<char> contents;
  CHECK(read_file(path.c_str(), 3, contents) == -EFBIG);
  CHECK(read_file(directory.file("b").c_str(), 3, contents) == -ENOENT);
}

TEST_CASE("without memory for it there is an error") {
  const TemporaryDirectory directory;
  const std::string path = write(directory.file("a"), numbers(1'000'000));
  ArenaArray<char> contents;
  const StarvedArena starved;
  CHECK(read_file(path.c_str(), 1 << 30, contents) == -ENOMEM);
}
