#include <doctest/doctest.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "alloctap/hook/strings/printing_shapes.hpp"

namespace {

/// What was looked at: a text, with how much of it at most, or where a count goes.
struct Looked {
  const void* at;
  std::size_t most;
  bool writes = false;
  bool operator==(const Looked&) const = default;
};

/// Keeps what it is asked to look at, but for the format.
struct KeepingLook {
  const void* format;
  std::vector<Looked>* kept;

  template <class C>
  void text(const C* text, std::size_t most = SIZE_MAX) const {
    if (text != format) kept->push_back({text, most});
  }
  void write(const void* to, std::size_t bytes) const { kept->push_back({to, bytes, true}); }
  template <class C>
  static std::size_t length_of(const C* text) {
    return std::char_traits<C>::length(text);
  }
};

template <class C>
std::vector<Looked> looked_at(const C* format, ...) {
  std::vector<Looked> kept;
  const KeepingLook look{format, &kept};
  std::va_list values;
  va_start(values, format);
  alloctap::PrintedTexts<KeepingLook, C>::check_access(look, format, values);
  va_end(values);
  return kept;
}

using All = std::vector<Looked>;
constexpr std::size_t kWhole = SIZE_MAX;
const char* const kText = "text";
const wchar_t* const kWide = L"wide";

}  // namespace

TEST_CASE("each text that is printed is looked at, whatever is printed before it") {
  CHECK(looked_at("") == All{});
  CHECK(looked_at("100 %% of nothing\n") == All{});
  CHECK(looked_at("%s", kText) == All{{kText, kWhole}});
  CHECK(looked_at("%d%c%5ld%lld%zu%s", 1, 'c', 2L, 3LL, std::size_t{4}, kText) ==
        All{{kText, kWhole}});
  CHECK(looked_at("%f%Lf%g%s", 1.0, 2.0L, 3.0, kText) == All{{kText, kWhole}});
  CHECK(looked_at("%p%m%%%s", static_cast<const void*>(kText), kText) == All{{kText, kWhole}});
  CHECK(looked_at("%d%d%d%d%d%d%d%d%s", 1, 2, 3, 4, 5, 6, 7, 8, kText) == All{{kText, kWhole}});
  CHECK(looked_at("%s%s", kText, kText + 1) == All{{kText, kWhole}, {kText + 1, kWhole}});
}

TEST_CASE("a precision says how much of a text is read") {
  CHECK(looked_at("%.3s", kText) == All{{kText, 3}});
  CHECK(looked_at("%*.*s%s", 10, 2, kText, kText) == All{{kText, 2}, {kText, kWhole}});
  CHECK(looked_at("%.*s", -1, kText) == All{{kText, kWhole}});
}

TEST_CASE("texts of the other width are looked at where all of them is printed") {
  CHECK(looked_at("%ls", kWide) == All{{kWide, kWhole}});
  CHECK(looked_at("%S", kWide) == All{{kWide, kWhole}});
  CHECK(looked_at("%.3ls%s", kWide, kText) == All{{kText, kWhole}});
  CHECK(looked_at(L"%ls", kWide) == All{{kWide, kWhole}});
  CHECK(looked_at(L"%.2ls", kWide) == All{{kWide, 2}});
  CHECK(looked_at(L"%s", kText) == All{{kText, kWhole}});
  CHECK(looked_at(L"%.2s%ls", kText, kWide) == All{{kWide, kWhole}});
}

TEST_CASE("a count is written where it goes") {
  short count = 0;
  CHECK(looked_at("%d%hn", 1, &count) == All{{&count, sizeof(short), true}});
}

TEST_CASE("no text is no fault, and what is not known ends the look") {
  CHECK(looked_at("%s%s", static_cast<const char*>(nullptr), kText) == All{{kText, kWhole}});
  CHECK(looked_at("%s%Y%s", kText, kText) == All{{kText, kWhole}});
  CHECK(looked_at("%1$s", kText) == All{});
  CHECK(looked_at("%") == All{});
  CHECK(looked_at("%l") == All{});
  CHECK(looked_at(static_cast<const char*>(nullptr)) == All{});
}
