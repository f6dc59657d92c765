#include "alloctap/os/file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>

#include "tests/support/temporary_directory.hpp"

namespace {

namespace os = alloctap::os;
using alloctap::testing::TemporaryDirectory;

std::string read_all(const os::File& file) {
  std::string text;
  std::array<char, 3> buffer{};
  for (;;) {
    const std::ptrdiff_t count = os::read_some(file.descriptor(), buffer);
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

std::string text_in(const std::string& path) {
  int error = 0;
  return read_all(os::open_for_reading(path.c_str(), error));
}

void write_new(const std::string& path, const char* text) {
  int error = 0;
  const os::File file = os::create_for_writing(path.c_str(), error);
  CHECK(os::write_all(file.descriptor(), text) == 0);
}

bool is_open(int descriptor) { return fcntl(descriptor, F_GETFD) != -1; }

}  // namespace

TEST_CASE("what is written is read back until the end") {
  const TemporaryDirectory directory;
  write_new(directory.file("a"), "seven words");
  CHECK(text_in(directory.file("a")) == "seven words");
}

TEST_CASE("a full device is an error that says so") {
  int error = -1;
  const os::File full = os::open_for_appending("/dev/full", error);
  REQUIRE(error == 0);
  const int result = os::write_all(full.descriptor(), "text");
  CHECK(result == -ENOSPC);
  CHECK(os::error_text(result) == std::string("No space left on device"));
}

TEST_CASE("an error that the system does not know has a text too") {
  CHECK(os::error_text(-99999) == std::string("unknown error"));
}

TEST_CASE("a missing file cannot be read and a missing directory not written to") {
  int error = 0;
  CHECK_FALSE(os::open_for_reading("/nowhere/at-all", error).is_open());
  CHECK(error == -ENOENT);
  error = 0;
  CHECK_FALSE(os::create_for_writing("/nowhere/at-all", error).is_open());
  CHECK(error == -ENOENT);
}

TEST_CASE("reading what is no file is an error and not the end") {
  int error = 0;
  const os::File directory = os::open_for_reading("/", error);
  std::array<char, 8> buffer{};
  CHECK(os::read_some(directory.descriptor(), buffer) == -EISDIR);
}

TEST_CASE("a thread that is to be cancelled is not cancelled by reading and writing") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a");
  bool ended = false;
  std::thread([&] {
    int state = 0;
    pthread_cancel(pthread_self());
    write_new(path, "text");
    ended = text_in(path) == "text";
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  }).join();
  CHECK(ended);
}

TEST_CASE("a file closes itself, once, wherever it was moved to") {
  int error = 0;
  int descriptor = -1;
  {
    os::File first = os::open_for_reading("/dev/null", error);
    descriptor = first.descriptor();
    os::File second(std::move(first));
    CHECK(second.descriptor() == descriptor);
    os::File third = os::open_for_reading("/dev/null", error);
    const int replaced = third.descriptor();
    third = std::move(second);
    CHECK_FALSE(is_open(replaced));
    CHECK(is_open(descriptor));
    CHECK((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0);
  }
  CHECK_FALSE(is_open(descriptor));
}

TEST_CASE("a released file stays open and a bad one says so when closed") {
  int error = 0;
  os::File file = os::open_for_reading("/dev/null", error);
  const int descriptor = file.release();
  CHECK_FALSE(file.is_open());
  CHECK(file.close() == 0);
  CHECK(is_open(descriptor));
  os::File owner(descriptor);
  os::File bad(1 << 20);
  CHECK(bad.close() == -EBADF);
}

TEST_CASE("files are renamed and removed, and errors named") {
  const TemporaryDirectory directory;
  write_new(directory.file("a"), "text");
  CHECK(os::rename_file(directory.file("a").c_str(), directory.file("b").c_str()) == 0);
  CHECK(text_in(directory.file("b")) == "text");
  CHECK(os::rename_file(directory.file("a").c_str(), directory.file("b").c_str()) == -ENOENT);
  CHECK(os::remove_file(directory.file("b").c_str()) == 0);
  CHECK(os::remove_file(directory.file("b").c_str()) == -ENOENT);
}
