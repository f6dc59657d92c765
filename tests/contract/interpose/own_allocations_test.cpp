// While a thread may hold the allocator's locks, its report must not enter the allocator at all.
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "alloctap/dump/html_dump.hpp"
#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/dump/json_dump.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "alloctap/status.hpp"
#include "alloctap/symbol/absl_symbolizer.hpp"
#include "counting_malloc.hpp"
#include "interposed_tracker.hpp"

namespace {

using alloctap::testing::escape;
using alloctap::testing::EventCount;
using alloctap::testing::InterposedTracker;

/// Calls of the original during `call`, which is a report's.
template <class Call>
std::size_t calls_of_original(Call call) {
  const alloctap::UseInternalArena own;
  const std::size_t before = calls_of_the_original();
  call();
  return calls_of_the_original() - before;
}

}  // namespace

TEST_CASE("the allocator behind the tracker is the one that counts") {
  const std::size_t before = calls_of_the_original();
  std::free(escape(std::malloc(10)));
  CHECK(calls_of_the_original() == before + 2);
}

TEST_CASE("a report enters the allocator not once") {
  const auto session = InterposedTracker::start();
  REQUIRE(session.ok());
  void* block = escape(std::malloc(10));
  bool written = false;
  alloctap::MemoryOutput output;
  CHECK(calls_of_original(
            [&] { written = InterposedTracker::dump(alloctap::TextDump{}, output).ok(); }) == 0);
  CHECK(written);
  CHECK(calls_of_original(
            [&] { written = InterposedTracker::dump(alloctap::JsonDump{}, output).ok(); }) == 0);
  CHECK(written);
  CHECK(output.text().find("alloctap.heap/1") != std::string_view::npos);
  const auto before = InterposedTracker::snapshot();
  REQUIRE(before.ok());
  const alloctap::HtmlDump difference{.base = &*before};
  CHECK(calls_of_original([&] { written = InterposedTracker::dump(difference, output).ok(); }) ==
        0);
  CHECK(written);
  CHECK(output.text().ends_with("</html>\n"));
  std::free(block);
}

TEST_CASE("what a report allocates is not the program's") {
  const auto session = InterposedTracker::start();
  REQUIRE(session.ok());
  const EventCount count;
  {
    alloctap::MemoryOutput output;
    CHECK(InterposedTracker::dump(alloctap::TextDump{}, output).ok());
    CHECK_FALSE(output.text().empty());
  }
  CHECK(count.so_far().allocations == 0);
}

TEST_CASE("a report that cannot be written enters the allocator not once, error text and all") {
  CHECK(calls_of_original([] {
          for (const char* path : {"/nowhere/at/all", "/proc/version"}) {
            const alloctap::Status status =
                InterposedTracker::dump(alloctap::TextDump{}, alloctap::FileOutput{path});
            if (status.ok()) std::abort();
          }
        }) == 0);
}

TEST_CASE("naming functions enters the allocator not once") {
  static char name[1024];
  CHECK(calls_of_original([] {
          const auto address = reinterpret_cast<std::uintptr_t>(&calls_of_the_original);
          if (alloctap::AbslSymbolizer::name_of(address, name).empty()) std::abort();
        }) == 0);
}

TEST_CASE("what a report allocated is freed without harm after it, and moves out when it grows") {
  std::string* text = nullptr;
  char* block = nullptr;
  {
    const alloctap::UseInternalArena own;
    text = new std::string(1000, 'x');
    block = strdup("content");
  }
  delete escape(text);
  const std::size_t before = calls_of_the_original();
  block = static_cast<char*>(std::realloc(block, 10'000));
  REQUIRE(block != nullptr);
  CHECK(calls_of_the_original() > before);
  CHECK(std::string_view(block) == "content");
  std::free(block);
}
