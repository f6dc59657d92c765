// What checks find in calls of functions of strings and of memory, in a program of which all such
// calls come by.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <strings.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <string>
#include <thread>
#include <vector>

#include "alloctap/check/checks.hpp"
#include "alloctap/check/misuse.hpp"
#include "alloctap/hook/interpose_hook.hpp"
#include "alloctap/hook/interposed_malloc.hpp"
#include "alloctap/hook/interposed_strings.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "tests/contract/checks/string_checked_program.hpp"

namespace {

struct StringConfig : alloctap::DefaultConfig {
  using Hook = alloctap::InterposeHook;
  using Checks = alloctap::Checks<alloctap::StringChecks, alloctap::Quarantine<100>>;
};
using StringTracker = alloctap::Tracker<StringConfig>;

}  // namespace

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(StringTracker);
ALLOCTAP_DEFINE_INTERPOSED_STRINGS(StringTracker);

using namespace alloctap;
using namespace alloctap::testing;

std::vector<Misuse> alloctap::testing::faults_of(const std::function<void()>& work) {
  const auto session = StringTracker::start();
  REQUIRE_MESSAGE(session.ok(), to_string(session.status()));
  const alloctap::Result<Snapshot> before = StringTracker::snapshot();
  REQUIRE(before.ok());
  work();
  const alloctap::Result<Snapshot> after = StringTracker::snapshot();
  REQUIRE(after.ok());
  std::vector<Misuse> faults;
  for (std::size_t i = before->misuses.size(); i < after->misuses.size(); ++i) {
    faults.push_back(after->misuses[i].first);
  }
  return faults;
}

namespace {

ALLOCTAP_NOINLINE void read_too_much() {
  const Block block;
  use(std::memchr(escape(block.text), 'x', kSize + 1));
}

}  // namespace

TEST_CASE("what a function reads behind a block is told before it does") {
  const Block block;
  char* const text = escape(block.text);
  const auto check = [](const char* function, auto work) { check_behind(function, false, work); };
  check("memcpy", [&] { std::memcpy(escape(elsewhere), text, kSize + 1); });
  check("memmove", [&] { std::memmove(escape(elsewhere), text, kSize + 1); });
  check("memcmp", [&] { use(std::memcmp(escape(elsewhere), text, kSize + 1)); });
  check("memchr", [&] { use(std::memchr(text, 'x', kSize + 1)); });
  check("strnlen", [&] { use(::strnlen(text, kSize + 1)); });
  check("strncmp",
        [&] { use(std::strncmp(text, std::string(kSize + 1, 'a').c_str(), kSize + 1)); });
  check("strncpy", [&] { std::strncpy(escape(elsewhere), text, kSize + 1); });
  check("wmemcpy", [&] {
    std::wmemcpy(reinterpret_cast<wchar_t*>(escape(elsewhere)), block.wide(),
                 kSize / sizeof(wchar_t) + 1);
  });
  check("wcsnlen", [&] { use(::wcsnlen(block.wide(), kSize / sizeof(wchar_t) + 1)); });
}

TEST_CASE("the program's entry stands in front of each function that is checked") {
  const auto module_of = [](const void* address) {
    Dl_info info{};
    REQUIRE(::dladdr(address, &info) != 0);
    return info.dli_fbase;
  };
  const void* const program = module_of(reinterpret_cast<const void*>(&read_too_much));
  int functions = 0;
  const auto check = [&](const char* name) {
    const std::string shown = name;
    CAPTURE(shown);
    const void* const found = ::dlsym(RTLD_DEFAULT, name);
    REQUIRE(found != nullptr);
    CHECK(module_of(found) == program);
    ++functions;
  };
  StringFunctions::for_each([&](auto function) { check(function.name); });
  CHECK(functions > 100);
  for (const char* const name :
       {"sprintf", "snprintf", "swprintf", "asprintf", "printf", "wprintf", "fprintf", "fwprintf",
        "dprintf", "__sprintf_chk", "__snprintf_chk", "__swprintf_chk", "__asprintf_chk",
        "__printf_chk", "__wprintf_chk", "__fprintf_chk", "__fwprintf_chk", "__dprintf_chk"}) {
    check(name);
  }
}

TEST_CASE("what a function writes behind a block is told before it does") {
  const Block block;
  // There is room: only what is told is looked at.
  char* const end = escape(block.text) + kSize - 4;
  const auto check = [](const char* function, auto work) { check_behind(function, true, work); };
  check("memset", [&] { std::memset(end, 0, 5); });
  check("memcpy", [&] { std::memcpy(end, elsewhere, 5); });
  check("bzero", [&] { ::bzero(end, 5); });
  check("strcpy", [&] { std::strcpy(end, escape("abcd")); });
  check("stpcpy", [&] { use(::stpcpy(end, escape("abcd"))); });
  check("strncpy", [&] { std::strncpy(end, escape("a"), 5); });
  check("sprintf", [&] { std::sprintf(end, escape("%d"), 1234); });
  check("snprintf", [&] { std::snprintf(end, 100, escape("%d"), 1234); });
  check("strcat", [&] {
    *end = '\0';
    std::strcat(end, escape("abcd"));
  });
}

TEST_CASE("what stays in a block is no fault") {
  const Block block;
  char* const text = escape(block.text);
  const auto faults = faults_of([&] {
    text[kSize - 1] = '\0';
    std::memcpy(escape(elsewhere), text, kSize);
    std::memset(text, 'b', kSize - 1);
    use(std::strlen(text));
    use(std::strchr(text, 'x'));
    std::strcpy(escape(elsewhere), text);
    std::strcpy(text, escape(elsewhere));
    std::snprintf(text, kSize, escape("%0100d"), 1);
    std::sprintf(text, escape("%031d"), 1);
    use(std::strtol(text, nullptr, 10));
    std::free(escape(::strdup(text)));
    std::memmove(text + 1, text, kSize - 1);
    use(std::memcmp(text, elsewhere, kSize));
    use(std::wcslen(std::wcscpy(block.wide(), L"wide")));
  });
  CHECK(faults.empty());
}

TEST_CASE("a call that touches a freed block is told with who freed it") {
  auto* const text = static_cast<char*>(escape(std::malloc(kSize)));
  const auto faults = faults_of([&] {
    std::free(text);
    // With what stands there: nothing is to be found of it later.
    std::memset(escape(text), kFreedByte, 1);
    std::memcpy(escape(elsewhere), escape(text), 1);
  });
  REQUIRE(faults.size() == 2);
  CHECK(faults[0].kind == MisuseKind::kWriteAfterFree);
  CHECK(faults[1].kind == MisuseKind::kReadAfterFree);
  CHECK(faults[1].block.freed);
  CHECK(faults[1].block.gone.stack != kNoStackId);
}

TEST_CASE("a copy of a text without an end is told, and is made") {
  auto* const text = static_cast<char*>(escape(std::malloc(8)));
  const auto faults = faults_of([&] {
    std::memset(escape(text), 'a', 8);
    std::free(escape(::strndup(text, 9)));
  });
  std::free(text);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == MisuseKind::kReadBehind);
  CHECK(faults[0].access.function == "strndup");
}

TEST_CASE("a copy onto itself is told with both ends") {
  const Block block;
  char* const text = escape(block.text);
  const auto faults = faults_of([&] { std::memcpy(text + 1, text, 8); });
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == MisuseKind::kOverlappingCopy);
  CHECK(faults[0].source == faults[0].address - 1);
  CHECK(faults[0].block.size == kSize);
}

TEST_CASE("results and errno are those of the functions themselves") {
  const Block block;
  char* const text = escape(block.text);
  errno = 77;
  CHECK(std::memcpy(escape(elsewhere), text, kSize + 1) == elsewhere);
  CHECK(errno == 77);
  CHECK(::stpcpy(escape(elsewhere), escape("abc")) == elsewhere + 3);
  CHECK(std::strlen(escape("abc")) == 3);
  CHECK(std::strstr(escape("xxabc"), escape("ab")) != nullptr);
  char* end = nullptr;
  CHECK(std::strtol(escape("12x"), &end, 10) == 12);
  CHECK(*end == 'x');
  CHECK(std::strtol(escape("99999999999999999999"), nullptr, 10) == LONG_MAX);
  CHECK(errno == ERANGE);
  CHECK(std::snprintf(escape(elsewhere), 4, escape("%s"), "abcdef") == 6);
  CHECK(std::string(elsewhere) == "abc");
  wchar_t wide[8];
  CHECK(std::swprintf(wide, 2, escape(L"%d"), 12345) == -1);
}

TEST_CASE("calls on many threads are looked at, and each place is told once") {
  const auto faults = faults_of([] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        for (int round = 0; round < 200; ++round) read_too_much();
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].access.function == "memchr");
}
