/// Adapter for doctest: makes test programs fail on leaks.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/status.hpp"
#include "alloctap/testing/case_leaks.hpp"
#include "alloctap/testing/impl/expectations.hpp"
#include "alloctap/testing/leak_reports.hpp"
#include "alloctap/testing/test_framework.hpp"

namespace alloctap::testing {

/// A doctest reporter that passes the begin and end of cases and subcases to `CaseLeaks`.
class DoctestListener : public doctest::IReporter {
 public:
  static constexpr std::array<std::string_view, 1> kScopes{"doctest::"};

  /// Sets the objects to which all reporters report, because doctest itself constructs the
  /// reporters. Both objects must outlive the test runs.
  static void tell(CaseLeaks& leaks, LeakNotes& notes) noexcept {
    leaks_ = &leaks;
    notes_ = &notes;
  }

  explicit DoctestListener(const doctest::ContextOptions& options) {
    ignores_failures_ = options.no_exitcode;
  }

  /// Returns true if test cases ran. Returns false if doctest only listed or counted them.
  [[nodiscard]] static bool has_run_cases() noexcept { return has_run_cases_; }
  /// Returns true if failures do not affect the exit code (--no-exitcode).
  [[nodiscard]] static bool ignores_failures() noexcept { return ignores_failures_; }

  void test_case_start(const doctest::TestCaseData& data) override {
    name_ = data.m_name;
    leaks_->begin_case(data.m_name);
  }
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    const bool failed = !stats.testCaseSuccess || stats.failure_flags != 0;
    Result<LeakedCase> leaked = leaks_->end_case(failed);
    if (!leaked.ok()) return notes_->add_failure("cannot look for leaks", leaked.status());
    if (failed && leaks_->is_second_run()) notes_->add_unrepeatable(name_);
    notes_->add(*std::move(leaked));
  }
  void subcase_start(const doctest::SubcaseSignature& part) override {
    leaks_->begin_part(part.m_name.c_str());
  }
  void subcase_end() override { leaks_->end_part(); }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override { has_run_cases_ = true; }
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override { leaks_->end_parts(); }
  void test_case_exception(const doctest::TestCaseException&) override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  static inline CaseLeaks* leaks_ = nullptr;
  static inline LeakNotes* notes_ = nullptr;
  static inline bool has_run_cases_ = false;
  static inline bool ignores_failures_ = false;
  /// Name of the current case; owned by doctest.
  std::string_view name_;
};

inline constexpr TestFramework kDoctest{
    .scopes = DoctestListener::kScopes,
    .fail = [](const char* file, int line, const std::string& message) {
      ADD_FAIL_CHECK_AT(file, line, message);
    }};

/// Configures the second run: it runs only the cases `names` and prints nothing.
inline void select_cases(doctest::Context& context, const std::vector<std::string>& names) {
  context.clearFilters();
  for (std::string name : names) {
    // A comma ends the filter, and some doctest versions cannot escape commas. "?" is a wildcard.
    std::replace_if(name.begin(), name.end(), [](char c) { return c == ',' || c == '\\'; }, '?');
    context.addFilter("test-case", name.c_str());
  }
  context.setOption("case-sensitive", true);
  context.setOption("no-skip", true);
  context.setOption("quiet", true);
}

/// Runs the tests as doctest's own main does, and fails if a test case leaks (`CaseLeaks`):
///
///     #define DOCTEST_CONFIG_IMPLEMENT
///     #include <alloctap/testing/doctest_adapter.hpp>
///     ...
///     int main(int argc, char** argv) {
///       return alloctap::testing::run_doctest<Tracker>(argc, argv);
///     }
///
/// Prints leaks to standard error. Cases that leave memory allocated run twice.
template <class Tracker>
[[nodiscard]] int run_doctest(int argc, const char* const* argv) {
  TestTracker::use<Tracker>();
  TestFramework::use(kDoctest);
  CaseLeaks leaks{FrameworkFrames(DoctestListener::kScopes)};
  LeakNotes notes;
  DoctestListener::tell(leaks, notes);
  if (const Status status = leaks.start(); !status.ok()) {
    notes.add_failure("cannot look for leaks", status);
    return EXIT_FAILURE;
  }
  doctest::registerReporter<DoctestListener>("alloctap", 0, false);
  int result = EXIT_SUCCESS;
  bool ignores_failures = false;
  std::vector<std::string> suspects;
  for (bool again = false;; again = true) {
    doctest::Context context;
    if (again) {
      select_cases(context, suspects);
    } else {
      context.applyCommandLine(argc, argv);
    }
    const int failures = context.run();
    if (again) break;
    result = failures;
    ignores_failures = DoctestListener::ignores_failures();
    if (!DoctestListener::has_run_cases()) return result;
    Result<std::vector<std::string>> names = leaks.end_first_run();
    if (!names.ok()) {
      notes.add_failure("cannot look for leaks", names.status());
      break;
    }
    suspects = *std::move(names);
    if (suspects.empty()) break;
    notes.say_again(suspects.size());
  }
  write_leak_reports(notes);
  return notes.all_well() || ignores_failures ? result : EXIT_FAILURE;
}

}  // namespace alloctap::testing
