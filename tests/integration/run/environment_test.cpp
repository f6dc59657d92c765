#include <doctest/doctest.h>
#include <signal.h>

#include <filesystem>
#include <string>

#include "tests/integration/run/launcher_fixture.hpp"

namespace {

using namespace launcher_test;

TEST_CASE("the object is preloaded before what the user preloads") {
  Launcher launcher;
  const std::string object = launcher.object();
  const auto preloaded = [&] { return launcher.run({"printenv", "LD_PRELOAD"}).out; };
  CHECK(preloaded() == object + "\n");
  launcher.environment.push_back("ASAN_OPTIONS=verify_asan_link_order=0");
  launcher.environment.push_back("");
  const fs::path other = launcher.root() / "other.so";
  fs::copy_file(object, other);
  for (const std::string& before : {other.native(), object + ":" + other.native(),
                                    other.native() + " " + object, ":" + other.native() + "::"}) {
    launcher.environment.back() = "LD_PRELOAD=" + before;
    CHECK(preloaded() == object + ":" + other.native() + "\n");
  }
  launcher.environment.back() = "LD_PRELOAD=";
  CHECK(preloaded() == object + "\n");
}

TEST_CASE("the object that the options need stands for the others, and they for it") {
  Launcher launcher;
  const std::string object = launcher.object();
  const std::string logging = launcher.logging_object();
  launcher.environment.push_back("LD_PRELOAD=" + object);
  CHECK(launcher.run({"--events=1M", "printenv", "LD_PRELOAD"}).out == logging + "\n");
  CHECK(launcher.run({"--tags", "printenv", "LD_PRELOAD"}).out ==
        launcher.tag_telling_object().native() + "\n");
  CHECK(launcher.run({"--checks=fill", "printenv", "LD_PRELOAD"}).out ==
        launcher.checking_object().native() + "\n");
  for (const char* option : {"--string-checks", "--checks=string_checks"}) {
    CHECK(launcher.run({option, "printenv", "LD_PRELOAD"}).out ==
          launcher.string_checking_object().native() + "\n");
  }
  for (const char* option : {"--sample=1K", "--min-size=2", "--max-size=1M"}) {
    CHECK(launcher.run({option, "printenv", "LD_PRELOAD"}).out ==
          launcher.choosing_object().native() + "\n");
  }
  CHECK(launcher.run({"--sample=1", "printenv", "LD_PRELOAD"}).out == object + "\n");
  launcher.environment.back() = "LD_PRELOAD=" + logging;
  CHECK(launcher.run({"--events=1M", "printenv", "LD_PRELOAD"}).out == logging + "\n");
  CHECK(launcher.run({"printenv", "LD_PRELOAD"}).out == object + "\n");
}

TEST_CASE("the object is really loaded") {
  const Launcher launcher;
  const Result result = launcher.run({"cat", "/proc/self/maps"});
  CHECK(result.err.empty());
  CHECK(result.out.find(launcher.object()) != std::string::npos);
}

TEST_CASE("nothing else of the environment changes") {
  Launcher launcher;
  launcher.environment.push_back("ALLOCTAP_RUN=garbage");
  launcher.environment.push_back("WEIRD=a\nb=\xff");
  std::string expected;
  for (const std::string& variable : {launcher.environment[0], launcher.environment[2]}) {
    expected += variable + "\n";
  }
  const Result result =
      launcher.run({"env", "-u", "LD_PRELOAD", "-u", "ALLOCTAP_RUN", "/usr/bin/env"});
  CHECK(result.out == expected);
}

TEST_CASE("the program takes the launcher's place") {
  const Launcher launcher;
  const Result result = launcher.run({"sh", "-c", "echo $$; exit 42"});
  CHECK(result.code == 42);
  CHECK(result.out == std::to_string(result.pid) + "\n");
  CHECK(launcher.run({"sh", "-c", "kill -SEGV $$"}).code == -SIGSEGV);
  CHECK(launcher.run({"sh", "-c", "kill -TERM $$"}).code == -SIGTERM);
}

TEST_CASE("the program gets no descriptor of the launcher's") {
  const Launcher launcher;
  const std::string list = "ls /proc/$$/fd; exit 0";
  const Result alone = launcher.execute({"/bin/sh", "-c", list});
  CHECK(launcher.run({"--dump=text=x", "/bin/sh", "-c", list}).out == alone.out);
}

TEST_CASE("the launcher works through a link and from another directory") {
  const Launcher launcher;
  fs::create_symlink(launcher.binary(), launcher.work() / "link");
  const Result result = launcher.execute({"./link", "printenv", "LD_PRELOAD"});
  CHECK(result.out == launcher.object().native() + "\n");
}

TEST_CASE("a missing object is refused") {
  const Launcher launcher;
  fs::remove(launcher.object());
  check_refused(launcher.run({"echo", "started"}), 2, {launcher.object(), "install"});
}

TEST_CASE("an object that the loader cannot name is refused") {
  const Launcher launcher;
  for (const char* name : {"a b", "a:b", "$ORIGIN"}) {
    const fs::path elsewhere = launcher.root() / name;
    fs::create_directory(elsewhere);
    fs::copy(launcher.root() / "bin", elsewhere / "bin");
    fs::copy(launcher.root() / "lib", elsewhere / "lib", fs::copy_options::recursive);
    const Result result = launcher.execute({elsewhere / "bin/alloctap-run", "echo", "started"});
    check_refused(result, 2, {(elsewhere / "lib").native(), "move"});
  }
}

TEST_CASE("an environment that the system finds too large is told") {
  Launcher launcher;
  std::string deep = launcher.work();
  for (int i = 0; i < 15; ++i) deep += "/" + std::string(200, 'd');
  fs::create_directories(deep);
  // With this stack limit the system accepts 128 KiB, of which the absolute paths need 48.
  launcher.environment.push_back("FILL=" + std::string(100000, 'x'));
  std::string command = "ulimit -s 512; cd " + deep + "; exec " + launcher.binary().native();
  for (int i = 0; i < 16; ++i) command += " --dump=text=" + std::to_string(i);
  const Result result = launcher.execute({"/bin/sh", "-c", command + " /bin/echo started"});
  check_refused(result, 126, {"'/bin/echo'", "Argument list too long"});
  CHECK(fs::is_empty(deep));
}

}  // namespace
