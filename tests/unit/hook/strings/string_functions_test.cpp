#include "alloctap/hook/strings/string_functions.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/hook/strings/string_access_checker.hpp"

namespace {

using namespace alloctap;

/// A range that a function was said to touch: where it begins in the memory of the test.
struct Range {
  std::ptrdiff_t begin;
  std::size_t bytes;
  bool writes;
  bool operator==(const Range&) const = default;
};

/// Memory that holds one block, `block`, of 16 bytes, and what a look told of it.
struct Memory {
  static constexpr std::size_t kBlock = 16;
  alignas(16) static inline char block[kBlock + 16];
  static inline std::vector<Range> ranges;
  static inline std::vector<std::ptrdiff_t> overlaps;

  static bool holds(const void* pointer) {
    return pointer >= block && pointer < block + sizeof(block);
  }
  static std::ptrdiff_t offset(std::uintptr_t address) {
    return static_cast<std::ptrdiff_t>(address - reinterpret_cast<std::uintptr_t>(block));
  }
};

/// An `AccessSink` that keeps what it is told of the block.
struct KeepingSink {
  static bool checks_strings() noexcept { return true; }
  static std::size_t room_at(const void* pointer) noexcept {
    if (!Memory::holds(pointer)) return SIZE_MAX;
    const auto used = static_cast<std::size_t>(static_cast<const char*>(pointer) - Memory::block);
    return used > Memory::kBlock ? 0 : Memory::kBlock - used;
  }
  static void check_access(const MemoryAccess& access, const CallOrigin&) noexcept {
    if (!Memory::holds(reinterpret_cast<const void*>(access.address)) || access.bytes == 0) return;
    Memory::ranges.push_back({Memory::offset(access.address), access.bytes, access.writes});
  }
  static void note_overlap(const MemoryAccess& access, std::uintptr_t source,
                           const CallOrigin&) noexcept {
    Memory::overlaps.push_back(static_cast<std::ptrdiff_t>(access.address - source));
  }
};
static_assert(AccessSink<KeepingSink>);

/// Fills the block with `text`, whose zeros are ends, and says what `NAME` touches of it.
template <FunctionName Name, class... Arguments>
std::vector<Range> touched(std::string_view text, Arguments... arguments) {
  std::memset(Memory::block, 'z', sizeof(Memory::block));
  std::memcpy(Memory::block, text.data(), text.size());
  Memory::ranges.clear();
  Memory::overlaps.clear();
  const CallOrigin origin;
  StringFunctionNamed<Name>::touch(StringAccessChecker<KeepingSink>(Name.view(), origin),
                                   arguments...);
  return Memory::ranges;
}

using Ranges = std::vector<Range>;

constexpr bool kRead = false;
constexpr bool kWrite = true;

using namespace std::string_view_literals;
/// 16 characters, without an end.
constexpr std::string_view kEndless = "aaaaaaaaaaaaaaaa";
char elsewhere[64];
char* const block = Memory::block;

}  // namespace

TEST_CASE("functions of bytes touch what they are given") {
  CHECK(touched<"memcpy">("", block, elsewhere, 20U) == Ranges{{0, 20, kWrite}});
  CHECK(touched<"memcpy">("", elsewhere, block + 4, 20U) == Ranges{{4, 20, kRead}});
  CHECK(touched<"memmove">("", block, block + 4, 8U) == Ranges{{4, 8, kRead}, {0, 8, kWrite}});
  CHECK(touched<"bcopy">("", block + 4, block, 8U) == Ranges{{4, 8, kRead}, {0, 8, kWrite}});
  CHECK(touched<"memset">("", block + 1, 0, 16U) == Ranges{{1, 16, kWrite}});
  CHECK(touched<"bzero">("", block, 3U) == Ranges{{0, 3, kWrite}});
  CHECK(touched<"memcmp">("", block, elsewhere, 5U) == Ranges{{0, 5, kRead}});
  CHECK(touched<"memrchr">("", block, 'x', 17U) == Ranges{{0, 17, kRead}});
  CHECK(touched<"memmem">("", block, 16U, block + 2, 3U) == Ranges{{2, 3, kRead}, {0, 16, kRead}});
  CHECK(touched<"memcpy">("", block, block, 0U).empty());
}

TEST_CASE("what looks for a byte goes no further than to the first") {
  CHECK(touched<"memchr">("abx"sv, block, 'x', 100U) == Ranges{{0, 3, kRead}});
  CHECK(touched<"memchr">(kEndless, block, 'x', 16U) == Ranges{{0, 16, kRead}});
  CHECK(touched<"memchr">(kEndless, block, 'x', 100U) == Ranges{{0, 17, kRead}});
  CHECK(touched<"memccpy">("abx"sv, elsewhere, block, 'x', 64U) == Ranges{{0, 3, kRead}});
  CHECK(touched<"memccpy">(kEndless, elsewhere, block, 'x', 64U) == Ranges{{0, 17, kRead}});
  CHECK(touched<"memccpy">(kEndless, elsewhere, block, 'x', 7U) == Ranges{{0, 7, kRead}});
}

TEST_CASE("a text ends with its end, and one without an end with its block") {
  CHECK(touched<"strlen">("abc\0"sv, block) == Ranges{{0, 4, kRead}});
  CHECK(touched<"strlen">(kEndless, block) == Ranges{{0, 17, kRead}});
  CHECK(touched<"strlen">(kEndless, block + 15) == Ranges{{15, 2, kRead}});
  CHECK(touched<"strnlen">(kEndless, block, 16U) == Ranges{{0, 16, kRead}});
  CHECK(touched<"strnlen">(kEndless, block, 17U) == Ranges{{0, 17, kRead}});
  CHECK(touched<"strrchr">(kEndless, block, 'x') == Ranges{{0, 17, kRead}});
}

TEST_CASE("what looks for a character in a text may find it before its end") {
  CHECK(touched<"strchr">("abc\0"sv, block, 'b') == Ranges{{0, 2, kRead}});
  CHECK(touched<"strchr">(kEndless, block, 'x') == Ranges{{0, 17, kRead}});
  CHECK(touched<"strcspn">("abc\0"sv, block, "xc") == Ranges{{0, 3, kRead}});
  CHECK(touched<"strspn">("aab\0"sv, block, "a") == Ranges{{0, 3, kRead}});
  CHECK(touched<"strspn">(kEndless, block, "ba") == Ranges{{0, 17, kRead}});
  CHECK(touched<"strpbrk">(kEndless, block, "x") == Ranges{{0, 17, kRead}});
  CHECK(touched<"strspn">("ab\0"sv, "aab", block) == Ranges{{0, 3, kRead}});
  CHECK(touched<"strstr">("xxabaaaaaaaaaaaa"sv, block, "ab") == Ranges{{0, 4, kRead}});
  CHECK(touched<"strstr">(kEndless, block, "ab") == Ranges{{0, 17, kRead}});
  CHECK(touched<"strcasestr">(kEndless, block, "x") == Ranges{{0, 17, kRead}});
}

TEST_CASE("a copy of a text writes its end, too") {
  CHECK(touched<"strcpy">("", block, "abc") == Ranges{{0, 4, kWrite}});
  CHECK(touched<"strcpy">("abc\0"sv, elsewhere, block) == Ranges{{0, 4, kRead}});
  CHECK(touched<"strcpy">(kEndless, elsewhere, block) == Ranges{{0, 17, kRead}});
  CHECK(touched<"strncpy">("", block, "abc", 20U) == Ranges{{0, 20, kWrite}});
  CHECK(touched<"strncpy">("abc\0"sv, elsewhere, block, 20U) == Ranges{{0, 4, kRead}});
  CHECK(touched<"strncpy">(kEndless, elsewhere, block, 16U) == Ranges{{0, 16, kRead}});
  CHECK(touched<"strcat">("ab\0"sv, block, "cde") == Ranges{{0, 6, kWrite}});
  CHECK(touched<"strncat">("ab\0"sv, block, "cde", 2U) == Ranges{{0, 5, kWrite}});
  CHECK(touched<"strncat">(kEndless, elsewhere, block, 16U) == Ranges{{0, 16, kRead}});
  CHECK(touched<"strcat">(kEndless, elsewhere, block) == Ranges{{0, 17, kRead}});
}

TEST_CASE("texts are compared to the first difference") {
  CHECK(touched<"strcmp">("abc\0"sv, block, "abd") == Ranges{{0, 3, kRead}});
  CHECK(touched<"strcmp">("abc\0"sv, "abc", block) == Ranges{{0, 4, kRead}});
  CHECK(touched<"strcmp">(kEndless, block, "aaaaaaaaaaaaaaaaa") == Ranges{{0, 17, kRead}});
  CHECK(touched<"strcmp">(kEndless, block, "aaaaaaaaaaaaaaa") == Ranges{{0, 16, kRead}});
  CHECK(touched<"strncmp">(kEndless, block, "aaaaaaaaaaaaaaaaa", 16U) == Ranges{{0, 16, kRead}});
  CHECK(touched<"strcasecmp">("aBc\0"sv, block, "AbD") == Ranges{{0, 3, kRead}});
  CHECK(touched<"strncasecmp">("aBc\0"sv, block, "AbC", 2U) == Ranges{{0, 2, kRead}});
}

TEST_CASE("wide characters count with all their bytes") {
  auto* const wide = reinterpret_cast<wchar_t*>(block);
  constexpr std::size_t kUnit = sizeof(wchar_t);
  CHECK(touched<"wmemcpy">("", wide, L"abc", 3U) == Ranges{{0, 3 * kUnit, kWrite}});
  CHECK(touched<"wmemset">("", wide, L'x', 5U) == Ranges{{0, 5 * kUnit, kWrite}});
  CHECK(touched<"wcscpy">("", wide, L"ab") == Ranges{{0, 3 * kUnit, kWrite}});
  CHECK(touched<"wcslen">(kEndless, wide) == Ranges{{0, Memory::kBlock + kUnit, kRead}});
  CHECK(touched<"wcscmp">(kEndless, wide, L"x") == Ranges{{0, kUnit, kRead}});
}

TEST_CASE("a fortified form is looked at as the function that it stands for") {
  CHECK(touched<"__memcpy_chk">("", block, elsewhere, 20U, 16U) == Ranges{{0, 20, kWrite}});
  CHECK(touched<"__strncat_chk">("ab\0"sv, block, "cde", 2U, 16U) == Ranges{{0, 5, kWrite}});
  CHECK(StringFunctionNamed<"__strcpy_chk">::shown == "strcpy");
  CHECK(StringFunctionNamed<"strcpy">::shown == "strcpy");
}

TEST_CASE("ranges that have bytes in common are told where that is not allowed") {
  touched<"memcpy">("", block + 1, block, 8U);
  CHECK(Memory::overlaps == std::vector<std::ptrdiff_t>{1});
  touched<"memcpy">("", block, block + 7, 8U);
  CHECK(Memory::overlaps == std::vector<std::ptrdiff_t>{-7});
  // A compiler copies an object to itself in this way.
  touched<"memcpy">("", block, block, 8U);
  CHECK(Memory::overlaps.empty());
  touched<"memcpy">("", block + 8, block, 8U);
  CHECK(Memory::overlaps.empty());
  // A length that was negative.
  touched<"memcpy">("", block + 8, block, SIZE_MAX);
  CHECK(Memory::overlaps == std::vector<std::ptrdiff_t>{8});
  touched<"memmove">("", block + 1, block, 8U);
  CHECK(Memory::overlaps.empty());
  touched<"strcpy">("abc\0"sv, block, block + 1);
  CHECK(Memory::overlaps == std::vector<std::ptrdiff_t>{-1});
  touched<"strncpy">("abc\0"sv, block + 4, block, 4U);
  CHECK(Memory::overlaps.empty());
  touched<"strncat">("abcdef\0"sv, block, block + 2, 2U);
  CHECK(Memory::overlaps == std::vector<std::ptrdiff_t>{-2});
}

TEST_CASE("a number is read to what ends it") {
  CHECK(touched<"atoi">(" -12 \0"sv, block) == Ranges{{0, 5, kRead}});
  CHECK(touched<"atoi">("1-2\0"sv, block) == Ranges{{0, 2, kRead}});
  CHECK(touched<"atol">("1111111111111111"sv, block) == Ranges{{0, 17, kRead}});
  std::memcpy(block, "12x", 4);
  Memory::ranges.clear();
  const CallOrigin origin;
  const StringAccessChecker<KeepingSink> look("strtol", origin);
  char* end = nullptr;
  using Strtol = StringFunctionNamed<"strtol">;
  CHECK(Strtol::run(&look, &std::strtol, block, &end, 10) == 12);
  CHECK(end == block + 2);
  CHECK(Memory::ranges == Ranges{{0, 3, kRead}});
}
