#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include "alloctap/dump/impl/outputs.hpp"
#include "tests/support/dumped_file.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using alloctap::FileOutput;
using namespace alloctap::testing;

}  // namespace

TEST_CASE("a file holds what was written, and nothing lies beside it") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("heap.txt");
  FileOutput output(path);
  REQUIRE(output.open().ok());
  CHECK(output.write("one, ").ok());
  CHECK(output.write("two").ok());
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(output.commit().ok());
  CHECK(content(path) == "one, two");
  CHECK(files_beside(path) == 1);
}

TEST_CASE("until it is committed a report leaves the one before it") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("heap.txt");
  fill(path, "old");
  {
    FileOutput output(path);
    REQUIRE(output.open().ok());
    CHECK(output.write("new").ok());
    CHECK(content(path) == "old");
    CHECK(files_beside(path) == 2);
  }
  CHECK(content(path) == "old");
  CHECK(files_beside(path) == 1);
}

TEST_CASE("a reader sees the old report or the new one, whole") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("heap.txt");
  const std::string reports[] = {std::string(50'000, 'a'), std::string(70'000, 'b')};
  fill(path, reports[0]);
  std::thread writer([&] {
    for (int i = 0; i < 200; ++i) {
      FileOutput output(path);
      CHECK(dump(output, reports[i % 2]).ok());
    }
  });
  std::size_t torn = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string seen = content(path);
    if (seen != reports[0] && seen != reports[1]) ++torn;
  }
  writer.join();
  CHECK(torn == 0);
}

TEST_CASE("one output may take several reports, also after one that was given up") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("heap.txt");
  FileOutput output(path);
  CHECK(dump(output, "first").ok());
  CHECK(dump(output, "second").ok());
  CHECK(content(path) == "second");
  REQUIRE(output.open().ok());
  CHECK(output.write("given up").ok());
  CHECK(dump(output, "third").ok());
  CHECK(content(path) == "third");
  CHECK(files_beside(path) == 1);
}

TEST_CASE("an output that is moved takes its report along") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("heap.txt");
  FileOutput first(path);
  REQUIRE(first.open().ok());
  CHECK(first.write("report").ok());
  {
    FileOutput second(std::move(first));
    CHECK(second.commit().ok());
  }
  CHECK(content(path) == "report");
  CHECK(files_beside(path) == 1);
}

TEST_CASE("what a dead process with this one's id left behind is no obstacle") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("heap.txt");
  std::filesystem::path partial;
  {
    FileOutput output(path);
    REQUIRE(output.open().ok());
    partial = *std::filesystem::directory_iterator(std::filesystem::path(path).parent_path());
  }
  fill(partial.string(), "left behind");
  FileOutput output(path);
  CHECK(dump(output, "report").ok());
  CHECK(content(path) == "report");
  CHECK(files_beside(path) == 1);
}

TEST_CASE("without a path there is no file") {
  FileOutput output("");
  CHECK(says(output.open(), "an empty path"));
}

TEST_CASE("a path with a NUL character is refused, and no other file is written") {
  const TemporaryDirectory directory;
  FileOutput output(directory.file(std::string("heap\0.txt", 9)));
  CHECK(says(output.open(), "a path with a NUL character"));
  CHECK_FALSE(std::filesystem::exists(directory.file("heap")));
}

TEST_CASE("a name may be as long as the system allows, and is cut at a character") {
  const TemporaryDirectory directory;
  const std::string short_name(200, 'n');
  for (std::string name = short_name; name.size() < 256; name += "\xC3\xA9") {
    const std::string path = directory.file(name);
    FileOutput output(path);
    CHECK(dump(output, "report").ok());
    CHECK(content(path) == "report");
  }
  for (const char* end : {"x", "xy"}) {
    FileOutput output(directory.file(short_name + std::string(53, 'n') + end));
    CHECK(dump(output, end).ok());
  }
}

TEST_CASE("long names that begin alike have partial files of their own") {
  const TemporaryDirectory directory;
  const std::string begin = directory.file(std::string(250, 'n'));
  const std::string one = begin + "1";
  const std::string two = begin + "2";
  FileOutput first(one);
  FileOutput second(two);
  REQUIRE(first.open().ok());
  REQUIRE(second.open().ok());
  CHECK(files_beside(one) == 2);
  CHECK(first.write("first").ok());
  CHECK(second.write("second").ok());
  CHECK(first.commit().ok());
  CHECK(second.commit().ok());
  CHECK(content(one) == "first");
  CHECK(content(two) == "second");
}

TEST_CASE("a name that is too long is refused before the dump") {
  const TemporaryDirectory directory;
  FileOutput output(directory.file(std::string(256, 'n')));
  CHECK_FALSE(output.open().ok());
}
