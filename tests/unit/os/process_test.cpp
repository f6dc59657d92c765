#include "alloctap/os/process.hpp"

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/thread_sanitizer.hpp"

namespace {

namespace os = alloctap::os;
using namespace std::string_view_literals;

std::string proc_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct Variable {
  std::string name;
  std::string value;
};

Variable first_initial_variable() {
  const std::string block = proc_file("/proc/self/environ");
  const std::string entry = block.substr(0, block.find('\0'));
  const std::size_t sign = entry.find('=');
  REQUIRE_MESSAGE(sign != entry.npos, "this test needs an environment with a variable");
  return {entry.substr(0, sign), entry.substr(sign + 1)};
}

}  // namespace

TEST_CASE("a variable is found by its whole name") {
  constexpr auto kBlock = "HOMER=a\0XHOME=b\0HOME=right\0HOME=second\0"sv;
  CHECK(os::find_variable(kBlock, "HOME") == "right");
  CHECK(os::find_variable(kBlock, "HOM").data() == nullptr);
  CHECK(os::find_variable(kBlock, "second").data() == nullptr);
  CHECK(os::find_variable("", "HOME").data() == nullptr);
}

TEST_CASE("an empty value is a value, and the last entry needs no end") {
  CHECK(os::find_variable("EMPTY=\0B=1\0"sv, "EMPTY").data() != nullptr);
  CHECK(os::find_variable("EMPTY=\0B=1\0"sv, "EMPTY").empty());
  CHECK(os::find_variable("A=1\0B=cut"sv, "B") == "cut");
  CHECK(os::find_variable("no sign\0B=1\0"sv, "B") == "1");
}

TEST_CASE("the initial environment is that of exec and not what was set since") {
  const auto [name, value] = first_initial_variable();
  std::vector<char> buffer(value.size() + 1);
  REQUIRE(setenv(name.c_str(), (value + " changed").c_str(), 1) == 0);
  REQUIRE(setenv("ALLOCTAP_TEST_SET_LATE", "1", 1) == 0);
  CHECK(os::initial_environment(name, buffer) == value);
  CHECK(os::initial_environment("ALLOCTAP_TEST_SET_LATE", buffer).data() == nullptr);
  setenv(name.c_str(), value.c_str(), 1);
  unsetenv("ALLOCTAP_TEST_SET_LATE");
}

TEST_CASE("a value comes with its end or, where that does not fit, not at all") {
  const auto [name, value] = first_initial_variable();
  std::vector<char> buffer(value.size() + 1, 'x');
  CHECK(os::initial_environment(name, buffer).data() == buffer.data());
  CHECK(buffer.back() == '\0');
  CHECK(os::initial_environment(name, {buffer.data(), value.size()}).data() == nullptr);
}

TEST_CASE("the command line is the arguments with nothing behind the last") {
  std::string expected = proc_file("/proc/self/cmdline");
  REQUIRE_FALSE(expected.empty());
  expected.pop_back();
  std::vector<char> buffer(expected.size() + 100);
  CHECK(os::command_line(buffer) == expected);
  std::array<char, 3> small{};
  CHECK(os::command_line(small) == expected.substr(0, small.size()));
}

TEST_CASE("the resident memory grows with what is touched") {
  constexpr std::size_t kBytes = 64 << 20;
  const std::uint64_t before = os::resident_bytes();
  CHECK(before > 100'000);
  std::vector<char> memory(kBytes, 'x');
  const std::uint64_t grown = os::resident_bytes() - before;
  CHECK(grown > kBytes / 10 * 9);
  // A sanitizer keeps memory of its own for what is touched.
  constexpr std::size_t kMaxCount =
      alloctap::testing::kThreadSanitizer ? kBytes * 6 : kBytes / 10 * 13;
  CHECK(grown < kMaxCount);
  CHECK(memory.back() == 'x');
}

TEST_CASE("the path of the executable is the kernel's") {
  std::array<char, 4096> buffer{};
  CHECK(os::executable_path(buffer) == std::filesystem::read_symlink("/proc/self/exe").string());
}

TEST_CASE("a variable is set and removed") {
  REQUIRE(os::set_environment("ALLOCTAP_TEST_SET", "value"));
  CHECK(std::getenv("ALLOCTAP_TEST_SET") == "value"sv);
  REQUIRE(os::set_environment("ALLOCTAP_TEST_SET", nullptr));
  CHECK(std::getenv("ALLOCTAP_TEST_SET") == nullptr);
  CHECK_FALSE(os::set_environment("", "value"));
}

TEST_CASE("the initial environment is found when the first thread has ended" *
          doctest::skip(alloctap::testing::kThreadSanitizer)) {
  const Variable first = first_initial_variable();
  const pid_t child = ::fork();
  if (child == 0) {
    std::thread([&] {
      // The first thread stays in the list of threads, without memory.
      while (proc_file("/proc/self/stat").find(") Z ") == std::string::npos) {
        std::this_thread::yield();
      }
      std::vector<char> buffer(first.value.size() + 1);
      ::_exit(os::initial_environment(first.name, buffer) == first.value ? 0 : 1);
    }).detach();
    for (;;) ::syscall(SYS_exit, 0);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
