// What checks find in calls of functions of strings and of memory on Windows.
#include <doctest/doctest.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <string>
#include <vector>

#include "alloctap/check/checks.hpp"
#include "alloctap/check/misuse.hpp"
#include "alloctap/hook/windows_heap_hook.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/os/windows/api.hpp"
#include "tests/contract/checks/checked_by.hpp"
#include "tests/contract/windows/plugin.hpp"

namespace {

using namespace alloctap;
using alloctap::testing::escape;
using alloctap::testing::PluginCopy;

int faults_told = 0;

struct StringConfig : DefaultConfig {
  using Hook = WindowsHeapHook;
  using Checks = alloctap::Checks<StringChecks, Quarantine<100>>;
  static constexpr ConfigFeatures features{.on_misuse = true};
  static void on_misuse(const Misuse&) noexcept { ++faults_told; }
};
using StringTracker = Tracker<StringConfig>;
constexpr alloctap::testing::FaultsOf<StringTracker> kFaultsOf;

constexpr std::size_t kSize = 32;
char elsewhere[256];

/// A block of `kSize` bytes for the time of a test, without an end in it.
struct Block {
  char* text = static_cast<char*>(escape(std::malloc(kSize)));
  Block() { std::memset(escape(text), 'a', kSize); }
  ~Block() { std::free(text); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  [[nodiscard]] wchar_t* wide() const { return reinterpret_cast<wchar_t*>(text); }
};

Session started() {
  auto session = StringTracker::start();
  REQUIRE_MESSAGE(session.ok(), to_string(session.status()));
  return *std::move(session);
}

/// Whether `work` makes one fault, in a call of `function`, that reads or writes behind a block.
template <class Work>
void check_behind(const char* function, bool writes, Work&& work) {
  CAPTURE(function);
  const std::vector<Misuse> faults = kFaultsOf(work);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == (writes ? MisuseKind::kWriteBehind : MisuseKind::kReadBehind));
  CHECK(faults[0].access.function == function);
  CHECK(faults[0].block.size == kSize);
  CHECK(faults[0].block.allocated.stack != faults[0].found.stack);
}

/// What ucrtbase.dll exports for the headers of Microsoft's compiler.
extern "C" int __stdio_common_vsprintf(unsigned long long options, char* to, std::size_t most,
                                       const char* format, void* locale, std::va_list values);

/// As their sprintf.
int universal_sprintf(char* to, const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  const int printed = __stdio_common_vsprintf(1, to, SIZE_MAX, format, nullptr, values);
  va_end(values);
  return printed;
}

/// Keeps a call whose result nobody wants.
template <class T>
void use(T value) {
  __asm__ volatile("" : : "g"(value) : "memory");
}

}  // namespace

TEST_CASE("what a function of Windows' C library reads behind a block is told") {
  const Session session = started();
  const Block block;
  char* const text = escape(block.text);
  const auto check = [](const char* function, auto work) { check_behind(function, false, work); };
  check("memcpy", [&] { std::memcpy(escape(elsewhere), text, kSize + 1); });
  check("memmove", [&] { std::memmove(escape(elsewhere), text, kSize + 1); });
  check("memcmp", [&] { use(std::memcmp(escape(elsewhere), text, kSize + 1)); });
  check("memchr", [&] { use(std::memchr(text, 'x', kSize + 1)); });
  check("strncmp",
        [&] { use(std::strncmp(text, std::string(kSize + 1, 'a').c_str(), kSize + 1)); });
  check("strncpy", [&] { std::strncpy(escape(elsewhere), text, kSize + 1); });
  check("_strnicmp",
        [&] { use(::_strnicmp(text, std::string(kSize + 1, 'A').c_str(), kSize + 1)); });
  check("wcsncpy", [&] {
    std::wcsncpy(reinterpret_cast<wchar_t*>(escape(elsewhere)), block.wide(),
                 kSize / sizeof(wchar_t) + 1);
  });
}

TEST_CASE("what a function of Windows' C library writes behind a block is told") {
  const Session session = started();
  const Block block;
  // There is room: only what is told is looked at.
  char* const end = escape(block.text) + kSize - 4;
  const auto check = [](const char* function, auto work) { check_behind(function, true, work); };
  check("memset", [&] { std::memset(end, 'a', 5); });
  check("memcpy", [&] { std::memcpy(end, "aaaaa", 5); });
  check("strcpy", [&] { std::strcpy(end, escape("abcd")); });
  check("strncpy", [&] { std::strncpy(end, escape("a"), 5); });
  check("strcat", [&] {
    *end = '\0';
    std::strcat(end, escape("abcd"));
  });
  check("wcscpy", [&] { std::wcscpy(reinterpret_cast<wchar_t*>(escape(end)), escape(L"ab")); });
}

TEST_CASE("what stays in a block is no fault, and results are those of the functions") {
  const Session session = started();
  const Block block;
  char* const text = escape(block.text);
  const auto faults = kFaultsOf([&] {
    text[kSize - 1] = '\0';
    CHECK(std::memcpy(escape(elsewhere), text, kSize) == elsewhere);
    std::memset(text, 'b', kSize - 1);
    CHECK(std::strlen(text) == kSize - 1);
    CHECK(std::strchr(text, 'x') == nullptr);
    std::strcpy(text, escape("12x"));
    std::free(escape(::_strdup(text)));
    char* end = nullptr;
    CHECK(std::strtol(text, &end, 10) == 12);
    CHECK(end == text + 2);
    CHECK(std::strtol(escape("99999999999999999999"), nullptr, 10) == LONG_MAX);
    CHECK(errno == ERANGE);
    CHECK(std::wcslen(std::wcscpy(block.wide(), L"wide")) == 4);
    ::SetLastError(77);
    std::memmove(text + 1, text, kSize - 1);
    CHECK(::GetLastError() == 77);
  });
  CHECK(faults.empty());
}

TEST_CASE("what printf's family reads and writes behind a block is told on Windows") {
  const Session session = started();
  const Block block;
  char* const text = escape(block.text);
  char* const end = text + kSize - 4;
  char* const to = escape(elsewhere);
  const auto check = [](const char* function, bool writes, auto work) {
    check_behind(function, writes, work);
  };
  check("_snprintf", false, [&] { ::_snprintf(to, 100, "%d %s", 1, text); });
  check("_snprintf", false, [&] { ::_snprintf(to, 100, "%.*s", int{kSize} + 1, text); });
  check("_snprintf", true, [&] { CHECK(::_snprintf(end, 5, "%.1f%c", 1.5, 'x') == 4); });
  check("_snprintf", true, [&] { CHECK(::_snprintf(end, 5, "%s", "longer") == -1); });
  check("_snwprintf", true,
        [&] { CHECK(::_snwprintf(reinterpret_cast<wchar_t*>(escape(end)), 3, L"%d", 12) == 2); });
  check("__stdio_common_vsprintf", true, [&] { CHECK(universal_sprintf(end, "%d", 1234) == 4); });
  std::memset(text, 'a', kSize);
  check("__stdio_common_vsprintf", false, [&] { universal_sprintf(to, "%s", text); });
  const auto none = kFaultsOf([&] {
    CHECK(::_snprintf(end, 4, "%s%d", "abc", 4) == 4);
    CHECK(universal_sprintf(end, "%.1f", 1.5) == 3);
    CHECK(universal_sprintf(to, "%.*s|%s", int{kSize}, text, "end") == kSize + 3);
  });
  CHECK(none.empty());
}

TEST_CASE("a call that touches a freed block, or copies onto itself, is told on Windows") {
  const Session session = started();
  auto* const gone = static_cast<char*>(escape(std::malloc(kSize)));
  const Block block;
  const auto faults = kFaultsOf([&] {
    std::free(gone);
    std::memset(escape(gone), kFreedByte, 1);
    std::memcpy(escape(elsewhere), escape(gone), 1);
    std::memcpy(block.text + 1, block.text, 8);
  });
  REQUIRE(faults.size() == 3);
  CHECK(faults[0].kind == MisuseKind::kWriteAfterFree);
  CHECK(faults[1].kind == MisuseKind::kReadAfterFree);
  CHECK(faults[1].block.gone.stack != kNoStackId);
  CHECK(faults[2].kind == MisuseKind::kOverlappingCopy);
  CHECK(faults[2].source == faults[2].address - 1);
}

TEST_CASE("modules that come later are looked at, and none is after the session") {
  std::vector<int> told;
  for (const bool lives : {true, false}) {
    Session session = started();
    const Block block;
    if (!lives) session.end();
    const HMODULE plugin = ::LoadLibraryA(ALLOCTAP_WINDOWS_PLUGIN);
    REQUIRE(plugin != nullptr);
    auto* const copy = reinterpret_cast<PluginCopy*>(
        reinterpret_cast<void*>(::GetProcAddress(plugin, "plugin_copy")));
    const bool is_there = copy != nullptr;
    REQUIRE(is_there);
    faults_told = 0;
    copy(escape(elsewhere), escape(block.text), kSize + 1);
    told.push_back(faults_told);
    ::FreeLibrary(plugin);
  }
  CHECK(told == std::vector{1, 0});
}
