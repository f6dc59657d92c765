#include "alloctap/stack/full_unwind_stack.hpp"

#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "alloctap/stack/backtrace_stack.hpp"
#include "tests/support/call_chain.hpp"
#include "tests/support/comparing_stack.hpp"

namespace {

using namespace alloctap;
using namespace alloctap::testing;

using Comparing = ComparingStack<FullUnwindStack, BacktraceStack>;

constexpr std::size_t kCarefulRoom = 300;

ALLOCTAP_NOINLINE void compare() {
  std::array<std::uintptr_t, kCarefulRoom> frames{};
  Comparing::capture(*ThreadStates::mine(), ALLOCTAP_CALL_ORIGIN(), frames);
}

void compare_in_handler(int) { compare(); }

int compare_elements(const void*, const void*) {
  compare();
  return 0;
}

/// What was compared since the last time, all of it equal.
std::uint64_t compared_equal() {
  const StackComparison comparison = Comparing::comparison();
  CHECK(comparison.different == 0);
  CHECK(comparison.tested_failed == 0);
  Comparing::forget();
  return comparison.compared;
}

}  // namespace

TEST_CASE("a careful walk sees what the compiler's unwinder sees") {
  Comparing::forget();
  for (const std::size_t room : {1U, 6U, 25U, 300U}) {
    static_cast<void>(capture_known_stack<Comparing>(20, room));
  }
  std::thread([] { static_cast<void>(capture_known_stack<Comparing>(5, kCarefulRoom)); }).join();
  CHECK(compared_equal() == 5);
}

TEST_CASE("a careful walk passes through the C library and the frames of signals") {
  std::array<int, 8> values{};
  std::qsort(values.data(), values.size(), sizeof(int), &compare_elements);
  CHECK(compared_equal() > 0);
  auto* const before = std::signal(SIGTERM, &compare_in_handler);
  std::raise(SIGTERM);
  std::signal(SIGTERM, before);
  CHECK(compared_equal() == 1);
}

TEST_CASE("a careful walk that never meets the caller is the caller alone, and failed") {
  std::array<std::uintptr_t, 8> frames{};
  const int not_code = 0;
  const CapturedStack stack =
      FullUnwindStack::capture(*ThreadStates::mine(), CallOrigin{.caller = &not_code}, frames);
  CHECK(stack.depth == 1);
  CHECK(stack.failed);
  CHECK(frames[0] == reinterpret_cast<std::uintptr_t>(&not_code));
}
