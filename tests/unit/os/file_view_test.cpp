#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <utility>

#include "alloctap/os/file.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using alloctap::os::FileView;

std::string text_of(const FileView& view) {
  return {reinterpret_cast<const char*>(view.bytes().data()), view.bytes().size()};
}

}  // namespace

TEST_CASE("a view has the bytes of its file, and hands them on") {
  const alloctap::testing::TemporaryDirectory directory;
  const std::string path = directory.file("bytes");
  const std::string bytes = std::string(10'000, 'x') + '\0' + "end";
  std::ofstream(path, std::ios::binary) << bytes;
  FileView view = FileView::open(path.c_str());
  CHECK(text_of(view) == bytes);
  FileView other = std::move(view);
  CHECK(text_of(other) == bytes);
  view = std::move(other);
  CHECK(text_of(view) == bytes);
}

TEST_CASE("a file that is empty, a directory, or nowhere has a view without bytes") {
  const alloctap::testing::TemporaryDirectory directory;
  const std::string path = directory.file("empty");
  std::ofstream(path).flush();
  CHECK(FileView::open(path.c_str()).bytes().empty());
  CHECK(FileView::open(directory.file("").c_str()).bytes().empty());
  CHECK(FileView::open(directory.file("nowhere").c_str()).bytes().empty());
  CHECK(FileView::open("").bytes().empty());
}
