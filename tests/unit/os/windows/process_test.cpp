#include "alloctap/os/process.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace os = alloctap::os;
using namespace std::string_view_literals;

std::string split(std::wstring_view line, std::size_t room = 200) {
  std::vector<char> buffer(room);
  return std::string(os::split_arguments(line, buffer));
}

}  // namespace

TEST_CASE("a command line is cut as the C library cuts it") {
  CHECK(split(L"prog") == "prog");
  CHECK(split(L"prog a  b\tc ") == "prog\0a\0b\0c"sv);
  CHECK(split(LR"("C:\my games\a.exe" "x y" z)") == "C:\\my games\\a.exe\0x y\0z"sv);
  CHECK(split(LR"(p a\b "c\\" \"d\" "e\"f" \\\"g)") == "p\0a\\b\0c\\\0\"d\"\0e\"f\0\\\"g"sv);
  CHECK(split(L"p \"\" end") == "p\0\0end"sv);
  CHECK(split(LR"(p "a ""b"" c" d)") == "p\0a \"b\" c\0d"sv);
  CHECK(split(L"p \u00E4\u20AC") == "p\0\xC3\xA4\xE2\x82\xAC"sv);
  CHECK(split(L"") == "");
}

TEST_CASE("a command line that does not fit is cut") {
  const std::string cut = split(L"prog argument", 9);
  CHECK("prog\0argument"sv.starts_with(cut));
  CHECK(cut.size() <= 9);
  CHECK(cut.size() >= 5);
  CHECK(split(L"prog", 0).empty());
  // What follows a character that has no room has none either.
  CHECK(split(L"prog \u20AC x", 7) == "prog\0"sv);
}

TEST_CASE("the executable has a path with its drive, and the command line begins with a name") {
  std::array<char, 4096> buffer{};
  const std::string path(os::executable_path(buffer));
  CHECK(path.substr(1, 2) == ":/");
  CHECK(path.ends_with("/alloctap_unit_tests.exe"));
  CHECK(os::command_line(buffer).find("alloctap_unit_tests") != std::string_view::npos);
}

TEST_CASE("a variable of the environment is found, whole or not at all") {
  REQUIRE(::SetEnvironmentVariableW(L"ALLOCTAP_TEST", L"\u20AC and more") != 0);
  REQUIRE(::SetEnvironmentVariableW(L"ALLOCTAP_EMPTY", L"") != 0);
  std::array<char, 64> buffer{};
  CHECK(os::initial_environment("ALLOCTAP_TEST", buffer) == "\xE2\x82\xAC and more");
  CHECK(buffer[12] == '\0');
  CHECK(os::initial_environment("ALLOCTAP_TEST", {buffer.data(), 12}).data() == nullptr);
  CHECK(os::initial_environment("ALLOCTAP_TEST", {buffer.data(), 13}).size() == 12);
  buffer.fill('x');
  CHECK(os::initial_environment("ALLOCTAP_TEST", {buffer.data(), 1}).data() == nullptr);
  CHECK(std::string_view(buffer.data() + 1, 20) == std::string(20, 'x'));
  CHECK(os::initial_environment("ALLOCTAP_EMPTY", buffer).data() != nullptr);
  CHECK(os::initial_environment("ALLOCTAP_EMPTY", buffer).empty());
  CHECK(os::initial_environment("ALLOCTAP_NOT_SET", buffer).data() == nullptr);
  ::SetEnvironmentVariableW(L"ALLOCTAP_TEST", nullptr);
}

TEST_CASE("the resident memory of a Windows process grows with what is touched") {
  constexpr std::size_t kBytes = 64 << 20;
  const std::uint64_t before = os::resident_bytes();
  CHECK(before > 100'000);
  const std::vector<char> memory(kBytes, 'x');
  const std::uint64_t grown = os::resident_bytes() - before;
  CHECK(grown > kBytes / 10 * 9);
  CHECK(grown < kBytes / 10 * 13);
  CHECK(memory.back() == 'x');
}

TEST_CASE("a variable is set and removed") {
  REQUIRE(os::set_environment("ALLOCTAP_TEST_SET", "value"));
  CHECK(std::getenv("ALLOCTAP_TEST_SET") == "value"sv);
  REQUIRE(os::set_environment("ALLOCTAP_TEST_SET", nullptr));
  CHECK(std::getenv("ALLOCTAP_TEST_SET") == nullptr);
}
