// What checks find in calls of functions that print, in the program of string_checks_test.cpp.
#include <doctest/doctest.h>
#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <string>
#include <thread>
#include <utility>

#include "tests/contract/checks/string_checked_program.hpp"

// What _FORTIFY_SOURCE makes of calls; the headers declare them there alone.
extern "C" {
int __printf_chk(int, const char*, ...);
int __wprintf_chk(int, const wchar_t*, ...);
int __fprintf_chk(std::FILE*, int, const char*, ...);
int __fwprintf_chk(std::FILE*, int, const wchar_t*, ...);
int __dprintf_chk(int, int, const char*, ...);
int __sprintf_chk(char*, int, std::size_t, const char*, ...);
int __snprintf_chk(char*, std::size_t, int, std::size_t, const char*, ...);
int __swprintf_chk(wchar_t*, std::size_t, int, std::size_t, const wchar_t*, ...);
int __asprintf_chk(char**, int, const char*, ...);
}

namespace {

using namespace alloctap::testing;

/// A stream whose output is nobody's.
struct Nowhere {
  std::FILE* stream = std::fopen("/dev/null", "w");
  Nowhere() { REQUIRE(stream != nullptr); }
  ~Nowhere() { std::fclose(stream); }
  Nowhere(const Nowhere&) = delete;
  Nowhere& operator=(const Nowhere&) = delete;
};

/// Standard output is another stream for the time of a test: glibc's is a variable.
struct StandardOutput {
  std::FILE* before;
  explicit StandardOutput(std::FILE* stream) : before(std::exchange(stdout, stream)) {}
  ~StandardOutput() { stdout = before; }
  StandardOutput(const StandardOutput&) = delete;
  StandardOutput& operator=(const StandardOutput&) = delete;
};

}  // namespace

TEST_CASE("a text that is printed is read, whatever it is printed to") {
  const Block block;
  char* const text = escape(block.text);
  const Nowhere nowhere;
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
  check("fprintf", [&] { std::fprintf(nowhere.stream, escape("%*d %s"), 4, 1, text); });
  check("dprintf", [&] { ::dprintf(::fileno(nowhere.stream), escape("%s"), text); });
  check("fputs", [&] { std::fputs(text, nowhere.stream); });
  CHECK(faults_of([&] {
          std::fprintf(nowhere.stream, escape("%.32s%s\n"), text, nullptr);
          std::snprintf(escape(elsewhere), sizeof(elsewhere), escape("%.*s"), 32, text);
        }).empty());
}

TEST_CASE("what goes to standard output, and what is fortified, is read the same") {
  const Block block;
  char* const text = escape(block.text);
  const char* const format = escape("%s");
  const wchar_t* const wide_format = escape(L"%s");
  char* const to = escape(elsewhere);
  auto* const wide_to = reinterpret_cast<wchar_t*>(escape(elsewhere));
  char* copy = nullptr;
  const Nowhere nowhere;
  const Nowhere wide_nowhere;
  const auto check = [](const char* function, auto work) { check_behind(function, false, work); };
  {
    const StandardOutput swapped(nowhere.stream);
    check("printf", [&] { std::printf(format, text); });
    check("printf", [&] { __printf_chk(1, format, text); });
    check("puts", [&] { std::puts(text); });
  }
  {
    const StandardOutput swapped(wide_nowhere.stream);
    check("wprintf", [&] { std::wprintf(wide_format, text); });
    check("wprintf", [&] { __wprintf_chk(1, wide_format, text); });
  }
  check("fwprintf", [&] { std::fwprintf(wide_nowhere.stream, wide_format, text); });
  check("fwprintf", [&] { __fwprintf_chk(wide_nowhere.stream, 1, wide_format, text); });
  check("fputws", [&] { std::fputws(block.wide(), wide_nowhere.stream); });
  check("fprintf", [&] { __fprintf_chk(nowhere.stream, 1, format, text); });
  check("dprintf", [&] { __dprintf_chk(::fileno(nowhere.stream), 1, format, text); });
  check("sprintf", [&] { __sprintf_chk(to, 1, sizeof(elsewhere), format, text); });
  check("snprintf", [&] { __snprintf_chk(to, 8, 1, sizeof(elsewhere), format, text); });
  check("swprintf", [&] { __swprintf_chk(wide_to, 8, 1, 8, wide_format, text); });
  check("asprintf", [&] { use(__asprintf_chk(&copy, 1, format, text)); });
  std::free(copy);
  CHECK(__snprintf_chk(to, 8, 1, sizeof(elsewhere), escape("%d %s"), 12, "ab") == 5);
  CHECK(std::string(to) == "12 ab");
}

TEST_CASE("a thread may be cancelled while it prints") {
  const Nowhere nowhere;
  std::setvbuf(nowhere.stream, nullptr, _IONBF, 0);
  std::atomic<bool> cleaned{false};
  std::thread thread([&] {
    struct Cleanup {
      std::atomic<bool>& done;
      ~Cleanup() { done = true; }
    } const cleanup{cleaned};
    ::pthread_cancel(::pthread_self());
    std::fputs(escape("text"), nowhere.stream);
  });
  thread.join();
  CHECK(cleaned);
}
