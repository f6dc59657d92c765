/// What a test says of allocations.
#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "alloctap/guard/reentrancy_guard.hpp"
#include "alloctap/testing/allocation_count.hpp"
#include "alloctap/testing/counted_stack.hpp"
#include "alloctap/testing/growth_watch.hpp"
#include "alloctap/testing/leaked_case.hpp"
#include "alloctap/testing/measured_body.hpp"
#include "alloctap/testing/test_framework.hpp"

namespace alloctap::testing {

/// "3 allocations of 120 bytes".
[[nodiscard]] inline std::string allocations_text(const BaselineCount& sums) {
  return std::to_string(sums.allocations) +
         (sums.allocations == 1 ? " allocation of " : " allocations of ") +
         std::to_string(sums.bytes) + (sums.bytes == 1 ? " byte" : " bytes");
}

/// What `count` has beyond `most` allocations, stack by stack; empty where there is nothing.
[[nodiscard]] inline std::string describe_excess(AllocationCount count, std::uint64_t most) {
  if (!count.status.ok()) return std::string(count.status.message());
  if (count.sums.allocations <= most) return {};
  const absl::StatusOr<NamedStacks> names = name_stacks(count);
  if (!names.ok()) return std::string(names.status().message());
  leave_out_framework(count, *names);
  if (count.sums.allocations <= most) return {};
  std::string text = "expected " +
                     (most == 0 ? "no allocation" : "at most " + std::to_string(most)) +
                     (count.sums.allocations == 1 ? "; there was " : "; there were ") +
                     allocations_text({count.sums.allocations, count.sums.bytes}) + "\n";
  for (const CountedStack& stack : count.stacks) {
    text += "  " + allocations_text({stack.allocations, stack.bytes}) + ", by\n";
    const std::vector<FrameText> frames =
        copy_frames(shown_frames(names->frames(stack.stack), count.caller));
    for (const FrameText& frame : frames) text += "    " + to_text(frame) + "\n";
    if (frames.empty()) text += "    (stack unknown)\n";
  }
  return text;
}

/// Fails the test at `where` unless `problem` is empty; true where it is.
inline bool expect_nothing(const std::string& problem, const std::source_location& where) {
  if (problem.empty()) return true;
  TestFramework::report(where.file_name(), static_cast<int>(where.line()), problem);
  return false;
}

/// Calls `body()`. The test fails, and goes on, where the calling thread allocated more than `most`
/// times in it; the failure tells by which stacks. What the framework's own assertions in it
/// allocate does not count. Whether it was well.
///
/// Needs a tracker with `TestConfig` that runs: `run_doctest` and the like start it.
template <class Body>
bool expect_allocations(std::uint64_t most, Body&& body,
                        const std::source_location& where = std::source_location::current()) {
  AllocationCount count = count_allocations(std::forward<Body>(body));
  const ReentrancyGuard guard;
  return expect_nothing(describe_excess(std::move(count), most), where);
}

/// The same, where `body()` must not allocate at all.
template <class Body>
bool expect_no_allocation(Body&& body,
                          const std::source_location& where = std::source_location::current()) {
  return expect_allocations(0, std::forward<Body>(body), where);
}

/// Calls `body()` twice, and then `iterations` times more, at least 2. The test fails where blocks
/// or bytes that it holds, on this thread or on those that it starts, grew in the first half of
/// these calls and in the second: by one call or by all of them. Caches that the first calls fill
/// are no growth.
template <class Body>
bool expect_no_growth(std::uint32_t iterations, Body&& body,
                      const std::source_location& where = std::source_location::current()) {
  GrowthWatch watch;
  MeasuredBody measured(body);
  constexpr std::uint32_t kWarmUp = 2;
  // One place calls it, so that its stacks are the same each time.
  for (std::uint32_t i = 0; i < kWarmUp + iterations; ++i) {
    if (i == kWarmUp || i == kWarmUp + iterations / 2) watch.look();
    measured();
  }
  watch.look();
  const ReentrancyGuard guard;
  return expect_nothing(iterations < 2 ? "expect_no_growth needs at least 2 iterations\n"
                                       : watch.describe(iterations, measured.caller()),
                        where);
}

}  // namespace alloctap::testing
