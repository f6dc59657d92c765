// What checks find in calls of functions of strings and of memory, in a program of which all such
// calls come by.
#include "alloctap/check/string_checks.hpp"

#include <doctest/doctest.h>
#include <pthread.h>
#include <strings.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <string>
#include <thread>
#include <vector>

#include "alloctap/check/byte_pattern.hpp"
#include "alloctap/check/checks.hpp"
#include "alloctap/check/quarantine.hpp"
#include "alloctap/hook/interpose_hook.hpp"
#include "alloctap/hook/interposed_malloc.hpp"
#include "alloctap/hook/interposed_strings.hpp"
#include "alloctap/tracker.hpp"
#include "tests/contract/hooks/hooked_program.hpp"

namespace {

struct StringConfig : alloctap::DefaultConfig {
  using Hook = alloctap::InterposeHook;
  using Checks = alloctap::Checks<alloctap::StringChecks, alloctap::Quarantine<100>>;
};
using StringTracker = alloctap::Tracker<StringConfig>;

}  // namespace

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(StringTracker);
ALLOCTAP_DEFINE_INTERPOSED_STRINGS(StringTracker);

namespace {

using namespace alloctap;
using alloctap::testing::escape;

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

/// The faults that `work` makes, in the order in which they are found first.
template <class Work>
std::vector<Misuse> faults_of(Work&& work) {
  const auto session = StringTracker::start();
  REQUIRE_MESSAGE(session.ok(), session.status().ToString());
  const absl::StatusOr<Snapshot> before = StringTracker::snapshot();
  REQUIRE(before.ok());
  work();
  const absl::StatusOr<Snapshot> after = StringTracker::snapshot();
  REQUIRE(after.ok());
  std::vector<Misuse> faults;
  for (std::size_t i = before->misuses.size(); i < after->misuses.size(); ++i) {
    faults.push_back(after->misuses[i].first);
  }
  return faults;
}

/// Whether `work` makes one fault, in a call of `function`, that reads or writes behind a block.
template <class Work>
void check_behind(const char* function, bool writes, Work&& work) {
  CAPTURE(function);
  const std::vector<Misuse> faults = faults_of(work);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].kind == (writes ? MisuseKind::kWriteBehind : MisuseKind::kReadBehind));
  CHECK(faults[0].access.function == function);
  CHECK(faults[0].access.writes == writes);
  CHECK(faults[0].block.size == kSize);
  CHECK(faults[0].block.allocated.stack != faults[0].found.stack);
}

/// Keeps a call whose result nobody wants.
template <class T>
void use(T value) {
  __asm__ volatile("" : : "g"(value) : "memory");
}

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

TEST_CASE("a text that is printed is read, whatever it is printed to") {
  const Block block;
  char* const text = escape(block.text);
  std::FILE* const nowhere = std::fopen("/dev/null", "w");
  REQUIRE(nowhere != nullptr);
  const auto check = [](const char* function, auto work) { check_behind(function, false, work); };
  check("snprintf", [&] { std::snprintf(escape(elsewhere), 8, escape("%d %s"), 1, text); });
  check("sprintf", [&] { std::sprintf(escape(elsewhere), escape("%s"), text); });
  check("swprintf", [&] {
    std::swprintf(reinterpret_cast<wchar_t*>(escape(elsewhere)), 8, escape(L"%s"), text);
  });
  check("asprintf", [&] {
    char* copy = nullptr;
    use(::asprintf(&copy, escape("%s"), text));
    std::free(copy);
  });
  check("fprintf", [&] { std::fprintf(nowhere, escape("%*d %s"), 4, 1, text); });
  check("dprintf", [&] { ::dprintf(::fileno(nowhere), escape("%s"), text); });
  check("fputs", [&] { std::fputs(text, nowhere); });
  CHECK(faults_of([&] {
          std::fprintf(nowhere, escape("%.32s%s\n"), text, nullptr);
          std::snprintf(escape(elsewhere), sizeof(elsewhere), escape("%.*s"), 32, text);
        }).empty());
  std::fclose(nowhere);
}

TEST_CASE("a thread may be cancelled while it prints") {
  std::FILE* const stream = std::fopen("/dev/null", "w");
  REQUIRE(stream != nullptr);
  std::setvbuf(stream, nullptr, _IONBF, 0);
  std::atomic<bool> cleaned{false};
  std::thread thread([&] {
    struct Cleanup {
      std::atomic<bool>& done;
      ~Cleanup() { done = true; }
    } const cleanup{cleaned};
    ::pthread_cancel(::pthread_self());
    std::fputs(escape("text"), stream);
  });
  thread.join();
  CHECK(cleaned);
  std::fclose(stream);
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
