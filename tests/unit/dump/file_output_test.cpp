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
