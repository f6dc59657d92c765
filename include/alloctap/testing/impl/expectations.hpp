/// Function bodies of testing/expectations.hpp.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "alloctap/event/offered_annotations.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/status.hpp"
#include "alloctap/testing/allocation_baseline.hpp"
#include "alloctap/testing/allocation_count.hpp"
#include "alloctap/testing/counted_stack.hpp"
#include "alloctap/testing/expectations.hpp"
#include "alloctap/testing/leaked_case.hpp"
#include "alloctap/testing/test_framework.hpp"

namespace alloctap::testing {

/// Returns "3 allocations of 120 bytes".
[[nodiscard]] inline std::string allocations_text(const BaselineCount& sums) {
  return count_text(sums.allocations, "allocation") + " of " + count_text(sums.bytes, "byte");
}

/// Returns a description of the allocations by stack if there are more than `most`, an error
/// message if `count` has an error, otherwise "".
[[nodiscard]] inline std::string describe_excess(AllocationCount count, std::uint64_t most) {
  if (!count.status.ok()) return std::string(count.status.message());
  if (count.sums.allocations <= most) return {};
  const Result<NamedStacks> names = name_stacks(count);
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

/// Returns true if `problem` is empty; otherwise fails the test at `where` with that message.
inline bool expect_nothing(const std::string& problem, const std::source_location& where) {
  if (problem.empty()) return true;
  TestFramework::report(where.file_name(), static_cast<int>(where.line()), problem);
  return false;
}

template <class T>
bool Expectations<T>::allocations(std::uint64_t most, MeasuredCall body,
                                  const std::source_location& where) {
  const AllocationScope scope;
  body();
  AllocationCount count = read_count(scope);
  count.caller = body.caller();
  const ReentrancyGuard guard;
  return expect_nothing(describe_excess(std::move(count), most), where);
}

template <class T>
bool Expectations<T>::no_growth(std::uint32_t iterations, MeasuredCall body,
                                const std::source_location& where) {
  GrowthWatch watch;
  constexpr std::uint32_t kWarmUp = 2;
  // Warm-up and iterations share a single call site, because their stacks must be equal.
  for (std::uint32_t i = 0; i < kWarmUp + iterations; ++i) {
    if (i == kWarmUp || i == kWarmUp + iterations / 2) watch.look();
    body();
  }
  watch.look();
  const ReentrancyGuard guard;
  return expect_nothing(iterations < 2 ? "expect_no_growth needs at least 2 iterations\n"
                                       : watch.describe(iterations, body.caller()),
                        where);
}

/// Adapts `TestTracker` to the interface that `name_counts` expects.
struct NamingTestTracker {
  static Result<NamedStacks> name_stacks(std::span<const StackId> stacks) {
    const TestTracker* const tracker = TestTracker::current();
    if (tracker == nullptr) return TestTracker::missing();
    return tracker->name_stacks(stacks);
  }
};

template <class T>
bool Expectations<T>::baseline(Name name, MeasuredCall body, const BaselinePlace& place,
                               const std::source_location& where) {
  const auto counted = ScopeCounter{}(body);
  const ReentrancyGuard guard;
  const Result<Baseline> measured =
      counted.ok()
          ? name_counts<NamingTestTracker>(
                *counted, {.caller = body.caller(), .without_library = place.without_library})
          : Result<Baseline>(counted.status());
  const BaselineOptions options{.directory =
                                    annotated_text(place.directory, ALLOCTAP_ENDS_IN_ZERO)};
  const auto found = BaselineCheck(annotated_text(name.data(), name.size()), options).run(measured);
  return expect_nothing(found.passed ? std::string() : found.message, where);
}

template struct Expectations<void>;

}  // namespace alloctap::testing
