/// Adapter for GoogleTest: makes leaking tests fail.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/os/process.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/status.hpp"
#include "alloctap/testing/case_leaks.hpp"
#include "alloctap/testing/impl/expectations.hpp"
#include "alloctap/testing/leak_reports.hpp"
#include "alloctap/testing/test_framework.hpp"

namespace alloctap::testing {

/// A GoogleTest listener that passes the begin and end of tests to `CaseLeaks`, and fails tests
/// that leak. SetUp and TearDown belong to the test; suite-level set-up belongs to no test.
class GoogleTestListener : public ::testing::EmptyTestEventListener {
 public:
  static constexpr std::array<std::string_view, 1> kScopes{"testing::"};

  /// Both arguments must outlive this object.
  GoogleTestListener(CaseLeaks& leaks, LeakNotes& notes) noexcept : leaks_(leaks), notes_(notes) {}

  void OnTestStart(const ::testing::TestInfo& info) override { leaks_.begin_case(name_of(info)); }

  void OnTestEnd(const ::testing::TestInfo& info) override {
    const bool failed = !info.result()->Passed();
    Result<LeakedCase> leaked = leaks_.end_case(failed);
    if (!leaked.ok()) return notes_.add_failure("cannot look for leaks", leaked.status());
    if (failed && leaks_.is_second_run()) notes_.add_unrepeatable(name_of(info));
    if (leaked->stacks.empty()) return;
    ADD_FAILURE_AT(info.file(), info.line()) << to_text(*leaked);
    notes_.keep(*std::move(leaked));
  }

 private:
  static std::string name_of(const ::testing::TestInfo& info) {
    const ReentrancyGuard guard;
    return std::string(info.test_suite_name()) + "." + info.name();
  }

  CaseLeaks& leaks_;
  LeakNotes& notes_;
};

inline constexpr TestFramework kGoogleTest{
    .scopes = GoogleTestListener::kScopes,
    .fail = [](const char* file, int line, const std::string& message) {
      ADD_FAILURE_AT(file, line) << message;
    }};

/// Hides the variables by which GoogleTest runs only a share of the tests, for this object's
/// lifetime: those that run a second time are of this share already.
class WholeRun {
 public:
  WholeRun() : shards_(hide(kShards)), index_(hide(kIndex)) {}
  WholeRun(const WholeRun&) = delete;
  WholeRun& operator=(const WholeRun&) = delete;
  ~WholeRun() {
    show(kShards, shards_);
    show(kIndex, index_);
  }

 private:
  static constexpr const char* kShards = "GTEST_TOTAL_SHARDS";
  static constexpr const char* kIndex = "GTEST_SHARD_INDEX";

  static std::optional<std::string> hide(const char* name) {
    const char* const value = std::getenv(name);
    if (value == nullptr) return std::nullopt;
    std::string kept(value);
    os::set_environment(name, nullptr);
    return kept;
  }
  static void show(const char* name, const std::optional<std::string>& value) noexcept {
    if (value) os::set_environment(name, value->c_str());
  }

  std::optional<std::string> shards_;
  std::optional<std::string> index_;
};

/// Configures the second run: runs only `names` and keeps the report files of the first run.
inline void select_tests(const std::vector<std::string>& names) {
  std::string filter;
  for (const std::string& name : names) filter += (filter.empty() ? "" : ":") + name;
  GTEST_FLAG_SET(filter, filter);
  GTEST_FLAG_SET(repeat, 1);
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_xml_generator());
}

/// Runs the tests and fails those that leak (`CaseLeaks`), with the stacks of the leaks:
///
///     int main(int argc, char** argv) {
///       ::testing::InitGoogleTest(&argc, argv);
///       return alloctap::testing::run_googletest<Tracker>();
///     }
///
/// Tests that leave memory allocated run twice, and global environments are set up twice. Call this
/// function after InitGoogleTest. Requires GoogleTest 1.12 or newer.
template <class Tracker>
[[nodiscard]] int run_googletest() {
  TestTracker::use<Tracker>();
  TestFramework::use(kGoogleTest);
  CaseLeaks leaks{FrameworkFrames(GoogleTestListener::kScopes)};
  LeakNotes notes;
  if (const Status status = leaks.start(); !status.ok()) {
    notes.add_failure("cannot look for leaks", status);
    return EXIT_FAILURE;
  }
  auto* const listener = new GoogleTestListener(leaks, notes);
  ::testing::UnitTest::GetInstance()->listeners().Append(listener);
  int result = EXIT_SUCCESS;
  std::optional<WholeRun> whole;
  for (bool again = false;; again = true) {
    const int failures = RUN_ALL_TESTS();
    if (again) break;
    result = failures;
    Result<std::vector<std::string>> suspects = leaks.end_first_run();
    if (!suspects.ok()) notes.add_failure("cannot look for leaks", suspects.status());
    if (!suspects.ok() || suspects->empty()) break;
    notes.say_again(suspects->size());
    select_tests(*suspects);
    whole.emplace();
  }
  delete ::testing::UnitTest::GetInstance()->listeners().Release(listener);
  write_leak_reports(notes);
  return notes.all_well() ? result : EXIT_FAILURE;
}

}  // namespace alloctap::testing
