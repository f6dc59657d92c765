#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "alloctap/os/file.hpp"

namespace {

namespace fs = std::filesystem;
namespace os = alloctap::os;

/// A folder that is removed at the end.
struct Folder {
  Folder() : path(fs::temp_directory_path() / ("links_test." + std::to_string(::getpid()))) {
    fs::create_directory(path);
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path path;
};

}  // namespace

TEST_CASE("a link is read if there is room for it") {
  const Folder folder;
  const std::string link = folder.path / "link";
  fs::create_symlink("/to/nothing", link);
  std::array<char, 12> room{};
  CHECK(os::read_link(link.c_str(), room) == "/to/nothing");
  CHECK(os::read_link(link.c_str(), {room.data(), 11}).empty());
}

TEST_CASE("what is no link leads nowhere") {
  const Folder folder;
  std::array<char, 64> room{};
  CHECK(os::read_link(folder.path.c_str(), room).empty());
  CHECK(os::read_link((folder.path / "missing").c_str(), room).empty());
}

TEST_CASE("a name is found by what it begins with") {
  const Folder folder;
  std::ofstream(folder.path / "1000-2000").put('.');
  std::ofstream(folder.path / "10001-20001").put('.');
  std::array<char, 9> room{};
  CHECK(os::find_name(folder.path.c_str(), "1000-", room) == "1000-2000");
  CHECK(os::find_name(folder.path.c_str(), "2000-", room).empty());
  CHECK(os::find_name(folder.path.c_str(), "1000-", {room.data(), 8}).empty());
  CHECK(os::find_name((folder.path / "missing").c_str(), "1000-", room).empty());
}
