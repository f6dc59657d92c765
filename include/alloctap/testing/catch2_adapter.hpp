/// Adapter for Catch2 2.x: makes test programs fail on leaks.
#pragma once

#if !defined(CATCH_CONFIG_RUNNER)
#error "define CATCH_CONFIG_RUNNER before alloctap/testing/catch2_adapter.hpp: it runs the tests"
#endif

#include <array>
#include <catch2/catch.hpp>
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

/// A Catch2 listener that passes the begin and end of cases and sections to `CaseLeaks`.
class Catch2Listener : public Catch::TestEventListenerBase {
 public:
  static constexpr std::array<std::string_view, 1> kScopes{"Catch::"};

  /// Sets the objects to which all listeners report, because Catch2 itself constructs the
  /// listeners. Both objects must outlive the test runs.
  static void tell(CaseLeaks& leaks, LeakNotes& notes) noexcept {
    leaks_ = &leaks;
    notes_ = &notes;
  }

  using TestEventListenerBase::TestEventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& info) override { leaks_->begin_case(info.name); }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    const bool failed = !stats.totals.assertions.allPassed();
    Result<LeakedCase> leaked = leaks_->end_case(failed);
    if (!leaked.ok()) return notes_->add_failure("cannot look for leaks", leaked.status());
    if (failed && leaks_->is_second_run()) notes_->add_unrepeatable(stats.testInfo.name);
    notes_->add(*std::move(leaked));
  }

  /// Ignores the outermost section, which is the case itself.
  void sectionStarting(const Catch::SectionInfo& section) override {
    if (depth_++ > 0) leaks_->begin_part(section.name);
  }
  void sectionEnded(const Catch::SectionStats&) override {
    if (--depth_ > 0) leaks_->end_part();
  }

 private:
  static inline CaseLeaks* leaks_ = nullptr;
  static inline LeakNotes* notes_ = nullptr;
  int depth_ = 0;
};

inline constexpr TestFramework kCatch2{
    .scopes = Catch2Listener::kScopes,
    .fail = [](const char* file, int line, const std::string& message) {
      FAIL_CHECK(file << ":" << line << ": " << message);
    }};

/// Returns a Catch2 test specification that selects the cases `names` and no others.
[[nodiscard]] inline std::string select_names(const std::vector<std::string>& names) {
  const ReentrancyGuard guard;
  std::string spec;
  for (const std::string& name : names) {
    if (!spec.empty()) spec += ',';
    for (std::size_t i = 0; i < name.size(); ++i) {
      const bool begins_a_mode = i == 0 && (name[0] == '~' || name[0] == '"');
      if (begins_a_mode || name[i] == '\\' || name[i] == ',' || name[i] == '[') spec += '\\';
      spec += name[i];
    }
  }
  return spec;
}

/// Runs the tests as Catch2's own main does, and fails if a test case leaks (`CaseLeaks`):
///
///     #define CATCH_CONFIG_RUNNER
///     #include <alloctap/testing/catch2_adapter.hpp>
///     ...
///     int main(int argc, char** argv) {
///       return alloctap::testing::run_catch2<Tracker>(argc, argv);
///     }
///
/// Prints leaks to standard error. Cases that leave memory allocated run twice. The Catch2 reporter
/// prints the second run to standard output.
template <class Tracker>
[[nodiscard]] int run_catch2(int argc, const char* const* argv) {
  TestTracker::use<Tracker>();
  TestFramework::use(kCatch2);
  CaseLeaks leaks{FrameworkFrames(Catch2Listener::kScopes)};
  LeakNotes notes;
  Catch2Listener::tell(leaks, notes);
  if (const Status status = leaks.start(); !status.ok()) {
    notes.add_failure("cannot look for leaks", status);
    return EXIT_FAILURE;
  }
  static_cast<void>(Catch::ListenerRegistrar<Catch2Listener>());
  Catch::Session session;
  int result = session.applyCommandLine(argc, argv);
  if (result != 0) return result;
  for (bool again = false;; again = true) {
    const int failures = session.run();
    if (again) break;
    result = failures;
    Result<std::vector<std::string>> suspects = leaks.end_first_run();
    if (!suspects.ok()) notes.add_failure("cannot look for leaks", suspects.status());
    if (!suspects.ok() || suspects->empty()) break;
    notes.say_again(suspects->size());
    Catch::ConfigData second;
    second.testsOrTags = {select_names(*suspects)};
    second.reporterName = "compact";
    session.useConfigData(second);
  }
  write_leak_reports(notes);
  return notes.all_well() ? result : EXIT_FAILURE;
}

}  // namespace alloctap::testing
