#include <doctest/doctest.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "alloctap/hook/strings/printing_shapes.hpp"

namespace {

using alloctap::PrintfConversion;
using alloctap::PrintfKind;

/// What stands behind a percent sign, once it is read.
struct Read {
  PrintfKind kind;
  int precision;
  std::size_t bytes;
  std::size_t characters;  ///< of the format
};

/// Asks `values` for what a star stands for, the first one first.
template <class C = char>
Read read(std::basic_string_view<C> text, std::vector<int> values = {}) {
  PrintfConversion<C> conversion(text.data(), text.data() + text.size());
  auto next = values.begin();
  const C* const end = conversion.read([&] { return *next++; });
  CHECK(next == values.end());
  return {conversion.kind(), conversion.precision(), conversion.value_bytes(),
          static_cast<std::size_t>(end - text.data())};
}
Read read(const char* text, std::vector<int> values = {}) {
  return read(std::string_view(text), std::move(values));
}

}  // namespace

TEST_CASE("a conversion of printf takes what its letter says") {
  for (const char* const letter : {"d", "i", "o", "u", "x", "X", "b", "c", "C"}) {
    CHECK(read(letter).kind == PrintfKind::kInteger);
    CHECK(read(letter).bytes == sizeof(int));
  }
  for (const char* const letter : {"a", "A", "e", "E", "f", "F", "g", "G"}) {
    CHECK(read(letter).kind == PrintfKind::kReal);
  }
  CHECK(read("p").kind == PrintfKind::kPointer);
  CHECK(read("n").kind == PrintfKind::kCount);
  CHECK(read("s").kind == PrintfKind::kText);
  CHECK(read("ls").kind == PrintfKind::kWideText);
  CHECK(read("S").kind == PrintfKind::kWideText);
  CHECK(read("%").kind == PrintfKind::kNothing);
  CHECK(read("m").kind == PrintfKind::kNothing);
}

TEST_CASE("a length says how large an integer is, and where a count goes") {
  CHECK(read("ld").bytes == sizeof(long));
  CHECK(read("lld").bytes == sizeof(long long));
  CHECK(read("qd").bytes == sizeof(long long));
  CHECK(read("Ld").bytes == sizeof(long long));
  CHECK(read("zu").bytes == sizeof(std::size_t));
  CHECK(read("Zu").bytes == sizeof(std::size_t));
  CHECK(read("td").bytes == sizeof(std::ptrdiff_t));
  CHECK(read("jd").bytes == sizeof(std::intmax_t));
  CHECK(read("hn").bytes == sizeof(short));
  CHECK(read("hhn").bytes == sizeof(char));
  CHECK(read("lc").bytes == sizeof(int));
  CHECK(read("lld").characters == 3);
}

TEST_CASE("flags, width and precision stand in front") {
  const Read conversion = read("-+ #0'I12.34s and on");
  CHECK(conversion.kind == PrintfKind::kText);
  CHECK(conversion.precision == 34);
  CHECK(conversion.characters == 13);
  CHECK(read("s").precision < 0);
  CHECK(read(".s").precision == 0);
  CHECK(read("*.*s", {5, 7}).precision == 7);
  CHECK(read("*s", {5}).precision < 0);
  CHECK(read(".*s", {-1}).precision < 0);
  CHECK(read(".99999999999999999999s").precision == INT_MAX);
}

TEST_CASE("what is no conversion is none that is known") {
  CHECK(read("").kind == PrintfKind::kUnknown);
  CHECK(read("l").kind == PrintfKind::kUnknown);
  CHECK(read("10").kind == PrintfKind::kUnknown);
  CHECK(read("1$s").kind == PrintfKind::kUnknown);
  CHECK(read("Y").kind == PrintfKind::kUnknown);
}

TEST_CASE("a format may be of wide characters") {
  const Read conversion = read(std::wstring_view(L"5.12ls"));
  CHECK(conversion.kind == PrintfKind::kWideText);
  CHECK(conversion.precision == 12);
  CHECK(conversion.characters == 6);
}
