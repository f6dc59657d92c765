#include "alloctap/dump/impl/outputs.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "alloctap/os/file.hpp"
#include "alloctap/status.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using alloctap::DescriptorOutput;
using alloctap::FileOutput;
using alloctap::testing::TemporaryDirectory;
namespace os = alloctap::os;

std::string text_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string message_of(const alloctap::Status& status) { return std::string(status.message()); }

}  // namespace

TEST_CASE("the text goes through a handle of Windows, which stays open") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("log");
  int error = 0;
  const os::File file = os::create_for_writing(path.c_str(), error);
  REQUIRE(error == 0);
  {
    DescriptorOutput output(file.descriptor());
    REQUIRE(output.open().ok());
    CHECK(output.write("one, ").ok());
    CHECK(output.write("two\n").ok());
    CHECK(output.commit().ok());
  }
  CHECK(os::write_all(file.descriptor(), ".") == 0);
  CHECK(text_in(path) == "one, two\n.");
}

TEST_CASE("a handle that takes nothing is named with the cause") {
  DescriptorOutput closed(987652);
  CHECK(closed.open().ok());
  CHECK(message_of(closed.write("text")) ==
        "cannot write the dump to descriptor 987652: Bad file descriptor");
}

TEST_CASE("a directory of Windows that is not there is named with the cause") {
  FileOutput output("C:/nowhere/at/all/heap.txt");
  CHECK(message_of(output.open()) ==
        "cannot open the dump C:/nowhere/at/all/heap.txt: No such file or directory");
}

TEST_CASE("a directory of Windows in the file's place stays, and nothing lies beside it") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("heap.txt");
  std::filesystem::create_directory(path);
  FileOutput output(path);
  REQUIRE(output.open().ok());
  REQUIRE(output.write("report").ok());
  const std::string message = message_of(output.commit());
  CHECK(message.starts_with("cannot rename the dump " + path + ": "));
  CHECK(std::filesystem::is_directory(path));
  const std::filesystem::directory_iterator files(directory.file(""));
  CHECK(std::distance(begin(files), end(files)) == 1);
}

TEST_CASE("a report goes to a file whose name is no ASCII") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("") + "\xE2\x82\xAC.txt";
  FileOutput output(path);
  REQUIRE(output.open().ok());
  REQUIRE(output.write("report").ok());
  REQUIRE(output.commit().ok());
  const auto written = std::filesystem::path(directory.file("")) / L"\u20AC.txt";
  CHECK(std::filesystem::file_size(written) == 6);
}
