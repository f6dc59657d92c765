#include "examples/tools/path_pattern.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace {

using namespace alloctap::run;

std::string expand(std::string_view pattern, std::int32_t pid, std::uint32_t number = 3) {
  std::array<char, kPathBytes> buffer;
  buffer.fill('#');
  const std::string_view path = expand_path(pattern, pid, number, buffer);
  if (!path.empty()) CHECK(path.data()[path.size()] == '\0');
  return std::string(path);
}

TEST_CASE("placeholders are replaced") {
  CHECK(expand("/a", 7) == "/a");
  CHECK(expand("/%p", 7) == "/7");
  CHECK(expand("/%p%p.%p", 2147483647) == "/21474836472147483647.2147483647");
  CHECK(expand("/%%p", 7) == "/%p");
  CHECK(expand("/%%%p", 7) == "/%7");
  CHECK(expand("/%%%%p", 7) == "/%%p");
  CHECK(expand("/%n", 7) == "/3");
  CHECK(expand("/%p.%n%n", 7, 4294967295) == "/7.42949672954294967295");
  CHECK(expand("/%%n", 7) == "/%n");
  CHECK(expand("", 7).empty());
}

TEST_CASE("any other percent sign stands for itself") {
  CHECK(expand("/100%", 7) == "/100%");
  CHECK(expand("/%x%", 7) == "/%x%");
  CHECK(expand("/\xff%\n ", 7) == "/\xff%\n ");
}

TEST_CASE("what does not fit is not cut") {
  std::array<char, 4> buffer{};
  CHECK((expand_path("/ab", 7, 3, buffer) == "/ab"));
  CHECK(expand_path("/abc", 7, 3, buffer).empty());
  CHECK((expand_path("/%p", 42, 3, buffer) == "/42"));
  CHECK(expand_path("/%p", 420, 3, buffer).empty());
  CHECK(expand_path("/", 7, 3, std::span<char>()).empty());
}

TEST_CASE("unknown placeholders are found") {
  CHECK(find_unknown_placeholder("/a%p%%b%n").empty());
  CHECK((find_unknown_placeholder("/%%%d") == "%d"));
  CHECK((find_unknown_placeholder("/100%") == "%"));
  CHECK((find_unknown_placeholder("%%p%q") == "%q"));
}

TEST_CASE("only a real %p names the process") {
  CHECK(names_process("heap.%p"));
  CHECK(names_process("%%%p"));
  CHECK_FALSE(names_process("%%p"));
  CHECK_FALSE(names_process("%%%%p"));
  CHECK_FALSE(names_process("p%"));
}

TEST_CASE("only a real %n names the dump") {
  CHECK(names_dump("heap.%n"));
  CHECK_FALSE(names_dump("%%n"));
  CHECK_FALSE(names_dump("%p"));
}

TEST_CASE("an escaped path expands to itself") {
  for (const std::string path : {"/a", "/%p", "/%%", "/50%", "/\xff %p;\n"}) {
    CHECK(expand(escape_path(path), 7) == path);
  }
}

}  // namespace
