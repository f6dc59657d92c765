#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "alloctap/testing/test_framework.hpp"

namespace {

using alloctap::NamedFrame;
using alloctap::testing::FrameworkFrames;
using alloctap::testing::qualified_name;

constexpr std::array<std::string_view, 1> kFrameworkScopes{"testing::"};

std::vector<NamedFrame> frames_of(const std::vector<std::string_view>& functions) {
  std::vector<NamedFrame> frames;
  for (const std::string_view function : functions) frames.push_back({.function = function});
  return frames;
}

bool is_of_framework(const std::vector<std::string_view>& functions) {
  return FrameworkFrames(kFrameworkScopes).allocated(frames_of(functions));
}

/// What is left, joined by spaces.
std::string cut_names(const std::vector<std::string_view>& functions) {
  const std::vector<NamedFrame> frames = frames_of(functions);
  std::string text;
  for (const NamedFrame& frame : FrameworkFrames(kFrameworkScopes).cut(frames)) {
    text += (text.empty() ? "" : " ") + std::string(frame.function);
  }
  return text;
}

}  // namespace

TEST_CASE("a function's name is told from what it returns and takes") {
  CHECK(qualified_name("main") == "main");
  CHECK(qualified_name("testing::Test::Run()") == "testing::Test::Run");
  CHECK(qualified_name("void testing::internal::Handle<testing::Test, void>(testing::Test*)") ==
        "testing::internal::Handle<testing::Test, void>");
  CHECK(qualified_name("std::string make<std::pair<int, int> >(std::less<int>)") ==
        "make<std::pair<int, int> >");
  CHECK(qualified_name("(anonymous namespace)::Parser::parse(int)") ==
        "(anonymous namespace)::Parser::parse");
  CHECK(qualified_name("std::ostream& testing::operator<< <int>(std::ostream&, int const&)") ==
        "testing::operator");
  CHECK(qualified_name("operator new(unsigned long)") == "operator");
  CHECK(qualified_name("game::load(int)::{lambda(int)#1}::operator()(int) const")
            .starts_with("game::"));
  CHECK(qualified_name("").empty());
  CHECK(qualified_name(">>)(<<") == ">>)(<<");
}

TEST_CASE("what a framework allocates by itself is told from what tests do") {
  CHECK(is_of_framework({"operator new(unsigned long)", "std::vector<int>::push_back(int&&)",
                         "testing::TestResult::AddTestPartResult()", "ATest::TestBody()",
                         "testing::Test::Run()", "main"}));
  CHECK_FALSE(is_of_framework(
      {"std::vector<int>::push_back(int&&)", "ATest::TestBody()", "testing::Test::Run()", "main"}));
  CHECK_FALSE(is_of_framework(
      {"MyMatcher::Matches(int)", "testing::Matcher::MatchAndExplain()", "ATest::TestBody()"}));
  CHECK_FALSE(is_of_framework({"", "testing::Test::Run()"}));
  CHECK_FALSE(is_of_framework({"std::vector<int>::push_back(int&&)"}));
  CHECK_FALSE(is_of_framework({}));
  CHECK(is_of_framework({"calloc", "_dl_allocate_tls", "pthread_create@@GLIBC_2.34",
                         "std::thread::_M_start_thread()", "ATest::TestBody()"}));
  CHECK(is_of_framework({"calloc", "__cxa_thread_atexit_impl", "__cxa_thread_atexit", "work()"}));
  CHECK(is_of_framework({"malloc", "_dlfo_mappings_segment_allocate", "_dl_find_object_update",
                         "dlopen", "ATest::TestBody()"}));
  CHECK_FALSE(is_of_framework({"malloc", "_dl_new_object", "dlopen", "ATest::TestBody()"}));
  CHECK_FALSE(is_of_framework({"operator new(unsigned long)", "work()", "pthread_create_wrapper"}));
}

TEST_CASE("a stack is shown from the library's function that was called to the test") {
  CHECK(cut_names({"std::allocator<char>::allocate()", "std::string::_M_create()",
                   "std::string::string(int)", "load()", "ATest::TestBody()",
                   "void testing::internal::Handle<int>()", "main"}) ==
        "std::string::string(int) load() ATest::TestBody()");
  CHECK(cut_names({"load()", "main"}) == "load() main");
  CHECK(cut_names({"testing::Helper()", "ATest::TestBody()", "testing::Run()"}) ==
        "testing::Helper() ATest::TestBody()");
  CHECK(cut_names({"std::allocate()", "std::make()"}) == "std::allocate() std::make()");
  CHECK(cut_names({}).empty());
}
