#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>

#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/status.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/dumped_file.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using alloctap::FileOutput;
using namespace alloctap::testing;

}  // namespace

TEST_CASE("a directory that is not there, or not writable, is named with the cause") {
  FileOutput output("/nowhere/at/all/heap.txt");
  const alloctap::Status status = output.open();
  CHECK(says(status, "cannot open the dump /nowhere/at/all/heap.txt: No such file or directory"));
  FileOutput into_system("/proc/heap.txt");
  CHECK(says(into_system.open(), "cannot open the dump /proc/heap.txt: "));
}

TEST_CASE("a directory in the file's place stays, and nothing lies beside it") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("heap.txt");
  std::filesystem::create_directory(path);
  FileOutput output(path);
  CHECK(says(dump(output, "report"), "cannot rename the dump " + path + ": Is a directory"));
  CHECK(files_beside(path) == 1);
}

TEST_CASE("a disk that gets full leaves the old report, and nothing lies beside it") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("heap.txt");
  fill(path, "old");
  CHECK(holds_in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 4096, .rlim_max = 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    FileOutput output(path);
    const alloctap::Status status = dump(output, std::string(10'000, 'x'));
    return status.message() == "cannot write the dump " + path + ": File too large" &&
           files_beside(path) == 1;
  }));
  CHECK(content(path) == "old");
}

TEST_CASE("a device is written to directly, and its failure is the report's") {
  // By links: a mistake must not cost root its devices.
  const TemporaryDirectory directory;
  const std::string null = directory.file("null");
  const std::string full = directory.file("full");
  std::filesystem::create_symlink("/dev/null", null);
  std::filesystem::create_symlink("/dev/full", full);
  FileOutput to_null(null);
  CHECK(dump(to_null, "report").ok());
  FileOutput to_full(full);
  const std::string expected = "cannot write the dump " + full + ": No space left on device";
  CHECK(says(dump(to_full, "report"), expected.c_str()));
  CHECK(std::filesystem::is_symlink(full));
}

TEST_CASE("a pipe is written to directly") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("pipe");
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  std::string received;
  std::thread reader([&] { received = content(path); });
  FileOutput output(path);
  alloctap::Status status = output.open();
  // Until the reader is there it has none.
  while (!status.ok()) status = output.open();
  CHECK(output.write("report").ok());
  CHECK(output.commit().ok());
  reader.join();
  CHECK(received == "report");
  CHECK(std::filesystem::is_fifo(path));
}

TEST_CASE("a file has the permissions that the program's files have") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("heap.txt");
  const mode_t before = umask(027);
  FileOutput output(path);
  CHECK(dump(output, "report").ok());
  umask(before);
  struct stat status{};
  CHECK(stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("a file that is replaced keeps its permissions") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("heap.txt");
  fill(path, "old");
  REQUIRE(chmod(path.c_str(), 0640) == 0);
  FileOutput output(path);
  CHECK(dump(output, "report").ok());
  struct stat status{};
  CHECK(stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("a link stays, and what it leads to is replaced") {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.file("reports"));
  const std::string real = directory.file("reports/real.txt");
  const std::string link = directory.file("link.txt");
  std::filesystem::create_symlink("reports/real.txt", link);
  FileOutput output(link);
  CHECK(dump(output, "first").ok());
  CHECK(content(real) == "first");
  REQUIRE(output.open().ok());
  CHECK(output.write("second").ok());
  CHECK(content(real) == "first");
  CHECK(files_beside(link) == 2);
  CHECK(output.commit().ok());
  CHECK(content(real) == "second");
  CHECK(files_beside(real) == 1);
  CHECK(std::filesystem::is_symlink(link));
}

TEST_CASE("links that lead in a circle are named with the cause") {
  const TemporaryDirectory directory;
  const std::string link = directory.file("link");
  std::filesystem::create_symlink("link", link);
  FileOutput output(link);
  const std::string expected =
      "cannot open the dump " + link + ": Too many levels of symbolic links";
  CHECK(says(output.open(), expected.c_str()));
  CHECK(files_beside(link) == 1);
}

TEST_CASE("standard output that is a file is written to directly, by any name and in order") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("output.txt");
  const std::string link = directory.file("link");
  std::filesystem::create_symlink("/proc/self/fd/1", link);
  CHECK(holds_in_child([&] {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
    FileOutput by_descriptor("/proc/self/fd/1");
    FileOutput by_link(link);
    const bool done = dup2(file, 1) == 1 && write(1, "a", 1) == 1 &&
                      dump(by_descriptor, "b").ok() && write(1, "c", 1) == 1 &&
                      dump(by_link, "d").ok() && write(1, "e", 1) == 1;
    return done && files_beside(path) == 2;
  }));
  CHECK(content(path) == "abcde");
  CHECK(std::filesystem::is_symlink(link));
}
