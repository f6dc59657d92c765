#include <doctest/doctest.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "alloctap/hook/windows/string_functions.hpp"

namespace {

/// A text that was looked at, with how much of it at most.
struct LookedAt {
  const void* at;
  std::size_t most;
  bool operator==(const LookedAt&) const = default;
};

/// Keeps what it is asked to look at, but for the format.
struct TextsLook {
  const char* format;
  std::vector<LookedAt>* kept;

  template <class C>
  void text(const C* text, std::size_t most = SIZE_MAX) const {
    if (static_cast<const void*>(text) != format) kept->push_back({text, most * sizeof(C)});
  }
  static std::size_t length_of(const char* text) { return std::string(text).size(); }
};

std::vector<LookedAt> looked_at(const char* format, ...) {
  std::vector<LookedAt> kept;
  std::va_list values;
  va_start(values, format);
  alloctap::WindowsPrintedTexts<TextsLook>::check_access({format, &kept}, format,
                                                         alloctap::PrintedValues(values));
  va_end(values);
  return kept;
}

using All = std::vector<LookedAt>;
constexpr std::size_t kWhole = SIZE_MAX;
constexpr std::size_t kWholeWide = SIZE_MAX * sizeof(wchar_t);
const char* const kText = "text";
const wchar_t* const kWide = L"wide";

}  // namespace

TEST_CASE("each text that a format of Windows names is looked at, whatever stands before it") {
  CHECK(looked_at("100 %% of nothing\n") == All{});
  CHECK(looked_at("%d%c%lld%I64d%Iu%s", 1, 'c', 2LL, 3LL, std::size_t{4}, kText) ==
        All{{kText, kWhole}});
  CHECK(looked_at("%f%g%p%s", 1.0, 2.0, static_cast<const void*>(kWide), kText) ==
        All{{kText, kWhole}});
  // The double of those who have no longer one.
  CHECK(looked_at("%Lf%s", 1.0, kText) == All{{kText, kWhole}});
  CHECK(looked_at("%*.*s%.s%hs%s", 10, 2, kText, kText, kText, kText + 1) ==
        All{{kText, 2}, {kText, 0}, {kText, kWhole}, {kText + 1, kWhole}});
  CHECK(looked_at("%ls%S%.3S%hS", kWide, kWide, kWide, kText) ==
        All{{kWide, kWholeWide}, {kWide, kWholeWide}, {kText, kWhole}});
}

TEST_CASE("null is no text, and nothing is looked at behind what nobody knows") {
  CHECK(looked_at(nullptr) == All{});
  CHECK(looked_at("%s%s", static_cast<const char*>(nullptr), kText) == All{{kText, kWhole}});
  CHECK(looked_at("%s%5I64d%s", kText, 1LL, kText) == All{{kText, kWhole}});
  CHECK(looked_at("%ws%s", kWide, kText) == All{});
  CHECK(looked_at("%s%", kText) == All{{kText, kWhole}});
}
