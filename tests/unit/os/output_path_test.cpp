#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "alloctap/os/file.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

namespace os = alloctap::os;
using alloctap::testing::TemporaryDirectory;

void fill(const std::string& path, const char* text) { std::ofstream(path) << text; }

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string followed(const std::string& path) {
  const os::FollowedPath result(path.c_str());
  CHECK(result.error() == 0);
  return result.c_str();
}

std::string path_of_descriptor(int descriptor) {
  return "/proc/self/fd/" + std::to_string(descriptor);
}

mode_t permissions_of(const std::string& path) {
  struct stat status{};
  CHECK(stat(path.c_str(), &status) == 0);
  return status.st_mode & 0777;
}

}  // namespace

TEST_CASE("links are followed to their end, which need not exist") {
  const TemporaryDirectory directory;
  const std::string end = directory.file("end");
  std::filesystem::create_symlink("second", directory.file("first"));
  std::filesystem::create_symlink(end, directory.file("second"));
  CHECK(followed(directory.file("first")) == end);
  CHECK(followed(end) == end);
  fill(end, "");
  CHECK(followed(directory.file("first")) == end);
}

TEST_CASE("links that lead in a circle are an error") {
  const TemporaryDirectory directory;
  std::filesystem::create_symlink("b", directory.file("a"));
  std::filesystem::create_symlink("a", directory.file("b"));
  CHECK(os::FollowedPath(directory.file("a").c_str()).error() == -ELOOP);
}

TEST_CASE("links to descriptors are kept") {
  const TemporaryDirectory directory;
  fill(directory.file("file"), "");
  const int file = open(directory.file("file").c_str(), O_WRONLY);
  std::filesystem::create_symlink(path_of_descriptor(file), directory.file("link"));
  CHECK(followed(directory.file("link")) == path_of_descriptor(file));
  close(file);
}

TEST_CASE("devices and descriptors are written through; files, directories and nothing are not") {
  const TemporaryDirectory directory;
  fill(directory.file("a"), "text");
  const int file = open(directory.file("a").c_str(), O_WRONLY);
  CHECK(os::is_written_through("/dev/null"));
  CHECK(os::is_written_through(path_of_descriptor(file).c_str()));
  CHECK_FALSE(os::is_written_through(directory.file("a").c_str()));
  CHECK_FALSE(os::is_written_through(directory.file("").c_str()));
  CHECK_FALSE(os::is_written_through(directory.file("b").c_str()));
  close(file);
}

TEST_CASE("a descriptor of this process is duplicated and keeps its position") {
  const TemporaryDirectory directory;
  const int file = open(directory.file("file").c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE(write(file, "one, ", 5) == 5);
  int error = -1;
  {
    const os::File through = os::open_through(path_of_descriptor(file).c_str(), error);
    REQUIRE(error == 0);
    CHECK(os::write_all(through.descriptor(), "two, ") == 0);
  }
  CHECK(write(file, "three", 5) == 5);
  CHECK(content(directory.file("file")) == "one, two, three");
  close(file);
}

TEST_CASE("a socket of this process, which cannot be opened, is duplicated") {
  std::array<int, 2> ends{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  int error = -1;
  const os::File through = os::open_through(path_of_descriptor(ends[0]).c_str(), error);
  CHECK(error == 0);
  CHECK(through.is_open());
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("a descriptor that cannot be written is opened again") {
  const TemporaryDirectory directory;
  fill(directory.file("file"), "one, ");
  const int file = open(directory.file("file").c_str(), O_RDONLY);
  int error = -1;
  const os::File through = os::open_through(path_of_descriptor(file).c_str(), error);
  CHECK(error == 0);
  CHECK(os::write_all(through.descriptor(), "two") == 0);
  CHECK(content(directory.file("file")) == "one, two");
  close(file);
}

TEST_CASE("a file gets the permissions of its model") {
  const TemporaryDirectory directory;
  fill(directory.file("model"), "");
  REQUIRE(chmod(directory.file("model").c_str(), 0666) == 0);
  const mode_t before = umask(027);
  int error = -1;
  os::create_like(directory.file("a").c_str(), directory.file("model").c_str(), error);
  CHECK(error == 0);
  os::create_like(directory.file("b").c_str(), directory.file("nothing").c_str(), error);
  CHECK(error == 0);
  umask(before);
  CHECK(permissions_of(directory.file("a")) == 0666);
  CHECK(permissions_of(directory.file("b")) == 0640);
  os::create_like(directory.file("a").c_str(), directory.file("model").c_str(), error);
  CHECK(error == -EEXIST);
}
