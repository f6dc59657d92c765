#include "alloctap/os/file.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>

#include "tests/support/temporary_directory.hpp"

namespace {

namespace os = alloctap::os;
using alloctap::testing::TemporaryDirectory;

std::string content(const std::string& path) {
  int error = 0;
  const os::File file = os::open_for_reading(path.c_str(), error);
  std::string text;
  std::array<char, 3> buffer{};
  while (file.is_open()) {
    const std::ptrdiff_t count = os::read_some(file.descriptor(), buffer);
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

void write_new(const std::string& path, const char* text) {
  int error = 0;
  const os::File file = os::create_for_writing(path.c_str(), error);
  CHECK(error == 0);
  CHECK(os::write_all(file.descriptor(), text) == 0);
}

bool is_open(int descriptor) {
  DWORD flags = 0;
  return ::GetHandleInformation(os::handle_of(descriptor), &flags) != 0;
}

}  // namespace

TEST_CASE("what is written to a file on Windows is read back as it was, line ends too") {
  const TemporaryDirectory directory;
  write_new(directory.file("a"), "two\nlines\r\n");
  CHECK(content(directory.file("a")) == "two\nlines\r\n");
}

TEST_CASE("a path is UTF-8, and the system sees its characters") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("") + "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80.txt";
  write_new(path, "text");
  CHECK(content(path) == "text");
  const auto first = std::filesystem::directory_iterator(directory.file(""));
  CHECK(first->path().filename().wstring() == L"\u00E4\u20AC\U0001F600.txt");
}

TEST_CASE("a path that is no UTF-8 is no path") {
  int error = 0;
  CHECK_FALSE(os::create_for_writing("C:/\xFF\xFF\xC3", error).is_open());
  CHECK(error != 0);
}

TEST_CASE("a path longer than 260 characters is one like others") {
  const TemporaryDirectory directory;
  std::string path = directory.file("");
  for (int i = 0; i < 5; ++i) {
    path += std::string(100, 'd') + "/";
    REQUIRE(::CreateDirectoryW(os::WidePath(path.c_str()).c_str(), nullptr) != 0);
  }
  write_new(path + "file", "deep");
  CHECK(content(path + "file") == "deep");
  CHECK(os::rename_file((path + "file").c_str(), (path + "other").c_str()) == 0);
  CHECK(os::remove_file((path + "other").c_str()) == 0);
  for (int i = 0; i < 5; ++i) {
    path.resize(path.size() - 101);
    const std::string inner = path + std::string(100, 'd');
    CHECK(::RemoveDirectoryW(os::WidePath(inner.c_str()).c_str()) != 0);
  }
}

TEST_CASE("a missing file or directory is told by its number everywhere") {
  int error = 0;
  CHECK_FALSE(os::open_for_reading("C:/nowhere/at-all", error).is_open());
  CHECK(error == -ENOENT);
  CHECK(os::error_text(error) == std::string("No such file or directory"));
  CHECK(os::remove_file("C:/nowhere/at-all") == -ENOENT);
}

TEST_CASE("an error that only Windows knows is told in its words") {
  const int error = os::negated_error(ERROR_SHARING_VIOLATION);
  CHECK(error < -os::kFirstWindowsError);
  const std::string text = os::error_text(error);
  CHECK(text.size() > 10);
  CHECK(text != "unknown error");
  CHECK(text.find('\n') == text.npos);
  CHECK(os::error_text(error) == text);
  CHECK(os::error_text(-99999) == std::string("unknown error"));
  CHECK(os::error_text(-os::kFirstWindowsError - 77'777) == std::string("unknown error"));
}

TEST_CASE("a file on Windows closes itself, once, wherever it was moved to") {
  int error = 0;
  int descriptor = -1;
  {
    os::File first = os::open_for_reading("NUL", error);
    REQUIRE(error == 0);
    descriptor = first.descriptor();
    os::File second(std::move(first));
    CHECK(second.descriptor() == descriptor);
    os::File third = os::open_for_reading("NUL", error);
    const int replaced = third.descriptor();
    third = std::move(second);
    CHECK_FALSE(is_open(replaced));
    CHECK(is_open(descriptor));
  }
  CHECK_FALSE(is_open(descriptor));
  os::File bad(1 << 20);
  CHECK(bad.close() == -EBADF);
}

TEST_CASE("a file may be renamed over another while both are open") {
  const TemporaryDirectory directory;
  write_new(directory.file("a"), "new");
  write_new(directory.file("b"), "old");
  int error = 0;
  const os::File reader = os::open_for_reading(directory.file("a").c_str(), error);
  CHECK(os::rename_file(directory.file("a").c_str(), directory.file("b").c_str()) == 0);
  CHECK(content(directory.file("b")) == "new");
  CHECK(os::rename_file(directory.file("a").c_str(), directory.file("b").c_str()) == -ENOENT);
}

TEST_CASE("0, 1 and 2 are the standard streams") {
  CHECK(os::handle_of(0) == ::GetStdHandle(STD_INPUT_HANDLE));
  CHECK(os::handle_of(1) == ::GetStdHandle(STD_OUTPUT_HANDLE));
  CHECK(os::handle_of(2) == ::GetStdHandle(STD_ERROR_HANDLE));
}

TEST_CASE("text for a console is cut between characters only") {
  CHECK(os::whole_characters("abc", 5) == 3);
  CHECK(os::whole_characters("abcdef", 5) == 5);
  CHECK(os::whole_characters("abc\xE2\x82\xAC", 5) == 3);
  CHECK(os::whole_characters("abc\xE2\x82\xAC", 6) == 6);
  CHECK(os::whole_characters("\xF0\x9F\x98\x80", 3) == 3);
}
