#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/integration/run/launcher_fixture.hpp"

namespace {

using namespace launcher_test;
using Texts = std::vector<std::string>;

Result run_with_dumps(const Launcher& launcher, const Texts& options) {
  Texts arguments;
  for (const std::string& option : options) {
    const bool is_path = !option.starts_with("--");
    arguments.push_back(is_path ? "--dump=text=" + option : option);
  }
  arguments.insert(arguments.end(), {"/usr/bin/printenv", "ALLOCTAP_RUN"});
  return launcher.run(arguments);
}

/// Refused, with `value` and `remedy` in the message, and nothing left in the working directory
/// beside what was there.
void check_bad_dumps(const Launcher& launcher, const Texts& options, const Texts& texts) {
  const auto count = [&] {
    return std::distance(fs::directory_iterator(launcher.work()), fs::directory_iterator());
  };
  const auto before = count();
  check_refused(run_with_dumps(launcher, options), 2, texts);
  CHECK(count() == before);
}

/// The one dump's field "MODE;LENGTH;PATTERN;", without the length.
std::string resolved(const Launcher& launcher, const Texts& options) {
  const Result result = run_with_dumps(launcher, options);
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.err.empty());
  const std::size_t start = result.out.find(";1;text;");
  REQUIRE(start != std::string::npos);
  // Behind it, that nobody asks for leaks, that there are no suppressions, and the hook.
  const std::string tail = "none;0;interpose;1;0;\n";
  REQUIRE(result.out.ends_with(";" + tail));
  const std::string dump =
      result.out.substr(start + 8, result.out.size() - start - 9 - tail.size());
  const std::size_t length = dump.find(';'), path = dump.find(';', length + 1) + 1;
  CHECK(dump.substr(length + 1, path - length - 2) == std::to_string(dump.size() - path));
  return dump.substr(0, length + 1) + dump.substr(path);
}

TEST_CASE("paths that cannot be written are refused") {
  const Launcher launcher;
  fs::create_directories(launcher.work() / "dir/sub");
  fs::create_symlink("dir", launcher.work() / "link");
  fs::create_symlink("loop", launcher.work() / "loop");
  fs::create_symlink("/nowhere/x", launcher.work() / "dangling");
  write_file(launcher.work() / "file", "");
  const struct {
    std::string path, remedy;
  } cases[] = {{"missing/x", "create it"},
               {"/nowhere/at/all", "create it"},
               {"file/x", "create it"},
               {"dangling", "create it"},
               {"loop", "leads to itself"},
               {"loop/x", "create it"},
               {"dir", "is a directory"},
               {"dir/", "is a directory"},
               {"newdir/", "is a directory"},
               {"link", "is a directory"},
               {".", "is a directory"},
               {"dir/..", "is a directory"},
               {"dir/sub/.", "is a directory"},
               {"/", "is a directory"},
               {"/proc/x", "choose another path"},
               {"/proc/self/fd/17", "choose another path"},
               {std::string(256, 'n'), "choose another path"},
               {std::string(5000, 'n'), "too long"},
               {"100%", "%%"},
               {"%d", "%%"},
               {"%n/x", "put it into the file's name"},
               {"dir/%n/x", "put it into the file's name"},
               {"/proc/self/fd/%n", "leave out %n"},
               {"%p/x", "create it"},
               {"a\nb/x", "create it"}};
  for (const auto& [path, remedy] : cases) {
    const std::string named = path == "a\nb/x" ? "a\\nb/x" : path;
    check_bad_dumps(launcher, {path}, {"--dump 'text=" + named + "'", remedy});
  }
  check_bad_dumps(launcher, {"--dump=json="}, {"--dump 'json='", "empty"});
  check_bad_dumps(launcher, {"good", "missing/x"}, {"'text=missing/x'"});
}

TEST_CASE("two dumps to one file are refused however they are spelled") {
  const Launcher launcher;
  fs::create_directories(launcher.work() / "dir");
  fs::create_symlink("dir", launcher.work() / "link");
  fs::create_symlink("dir/x", launcher.work() / "name");
  const std::string pid_free = launcher.work() / "dir/x";
  const std::string from_above = ".." / launcher.work().filename() / "dir/x";
  for (const std::string& second :
       {std::string("dir/x"), std::string("dir/../dir/./x"), std::string("link/x"), pid_free,
        std::string("dir//x"), std::string("name"), from_above}) {
    check_bad_dumps(launcher, {"dir/x", "--dump=json=" + second},
                    {"'json=" + second + "'", "'text=dir/x'", "of its own"});
  }
  check_bad_dumps(launcher, {"%%p", "dir/../%%p"}, {"of its own"});
  check_bad_dumps(launcher, {"%p", "dir/../%p"}, {"of its own"});
  check_bad_dumps(launcher, {"%n", "dir/../%n"}, {"of its own"});
  check_bad_dumps(launcher, {"/dev/stderr", "/proc/self/fd/2"}, {"of its own"});
  CHECK(run_with_dumps(launcher, {"x", "dir/x", "x.json", "%%p", "%p"}).code == 0);
}

TEST_CASE("with --follow-children every process needs a file of its own") {
  const Launcher launcher;
  fs::create_directories(launcher.work() / "7");
  for (const char* path : {"x", "%%p", "7/x"}) {
    check_bad_dumps(launcher, {"--follow-children", path}, {path, "--follow-children", "put %p"});
  }
  CHECK(run_with_dumps(launcher, {"--follow-children", "x.%p"}).code == 0);
  CHECK(run_with_dumps(launcher, {"--follow-children", "/dev/null"}).code == 0);
}

TEST_CASE("paths are made absolute, and links in them followed") {
  const Launcher launcher;
  const std::string work = launcher.work();
  fs::create_directories(launcher.work() / "50% dir");
  fs::create_symlink("50% dir", launcher.work() / "link");
  fs::create_symlink("link/target%p", launcher.work() / "name");
  write_file(launcher.work() / "old", "content");
  CHECK(resolved(launcher, {"x"}) == "replace;" + work + "/x");
  CHECK(resolved(launcher, {"old"}) == "replace;" + work + "/old");
  CHECK(resolved(launcher, {"./link/../y;\n %p"}) == "replace;" + work + "/y;\n %p");
  CHECK(resolved(launcher, {"link/x.%p"}) == "replace;" + work + "/50%% dir/x.%p");
  CHECK(resolved(launcher, {"name"}) == "replace;" + work + "/50%% dir/target%%p");
  CHECK(resolved(launcher, {"link/x.%n"}) == "replace;" + work + "/50%% dir/x.%n");
  CHECK(resolved(launcher, {"%p.%n.%%"}) == "replace;" + work + "/%p.%n.%%");
  CHECK(resolved(launcher, {"\xff\xfe=%%"}) == "replace;" + work + "/\xff\xfe=%%");
  CHECK(resolved(launcher, {std::string(255, 'n')}).size() > 255);
  CHECK(read_file(launcher.work() / "old") == "content");
}

TEST_CASE("devices and pipes are written as they are, and not disturbed") {
  const Launcher launcher;
  const fs::path fifo = launcher.work() / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  // /dev/stderr is a regular file here: it must not be replaced.
  for (const std::string path : {"/dev/null", "/dev/stderr", "/dev/stdout"}) {
    CHECK(resolved(launcher, {path}) == "append;" + path);
  }
  CHECK(resolved(launcher, {"fifo"}) == "append;" + fifo.native());
  const std::string command = "cat fifo > got & " + launcher.binary().native() +
                              " --dump text=fifo sh -c 'sleep 0.2; echo report > fifo'; wait";
  CHECK(launcher.execute({"/bin/sh", "-c", command}).code == 0);
  CHECK(read_file(launcher.work() / "got") == "report\n");
}

TEST_CASE("standard streams are known by every name") {
  const Launcher launcher;
  fs::create_symlink("/proc/self/fd/1", launcher.work() / "output");
  for (const std::string path : {"/proc/self/fd/1", "/dev/fd/1", "output"}) {
    CHECK(resolved(launcher, {path}) == "append;/dev/stdout");
  }
  for (const std::string path : {"/proc/self/fd/2", "/dev/fd/2"}) {
    CHECK(resolved(launcher, {path}) == "append;/dev/stderr");
  }
}

TEST_CASE("a socket is refused") {
  const Launcher launcher;
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = launcher.work() / "socket";
  REQUIRE(path.size() < sizeof(address.sun_path));
  std::memcpy(address.sun_path, path.data(), path.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  check_bad_dumps(launcher, {"socket"}, {"'text=socket'", "socket", "choose"});
  ::close(socket);
}

TEST_CASE("permissions are honoured" * doctest::skip(::geteuid() != 0)) {
  const Launcher launcher;
  const fs::path sticky = launcher.work() / "sticky";
  fs::create_directory(sticky);
  fs::permissions(sticky, fs::perms(01777));
  write_file(sticky / "mine", "", 0666);
  write_file(launcher.work() / "closed", "");
  const auto refused = [&](const std::string& path, const char* remedy) {
    check_refused(launcher.run_as_nobody({"--dump=text=" + path, "/bin/echo", "started"}), 2,
                  {"'text=" + path + "'", remedy});
  };
  refused("x", "Permission denied; choose another");
  refused("closed", "may not replace");
  refused("sticky/mine", "may not replace");
  refused("/root/x", "choose another");
  CHECK(launcher.run_as_nobody({"--dump=text=sticky/x", "/bin/true"}).code == 0);
  const auto count = std::distance(fs::directory_iterator(sticky), fs::directory_iterator());
  CHECK(count == 1);
}

}  // namespace
