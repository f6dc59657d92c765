/// Messages and leak reports of test framework adapters, for people and for CI.
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/os/process.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/status.hpp"
#include "alloctap/testing/finding_format.hpp"
#include "alloctap/testing/found_findings.hpp"
#include "alloctap/testing/github_findings.hpp"
#include "alloctap/testing/junit_findings.hpp"
#include "alloctap/testing/leaked_case.hpp"

namespace alloctap::testing {

/// Collects leaks, and prints messages to standard error immediately. Control plane. Its
/// allocations are not recorded.
class LeakNotes {
 public:
  void add(LeakedCase leaked) {
    if (leaked.stacks.empty()) return;
    const ReentrancyGuard guard;
    say(to_text(leaked));
    keep(std::move(leaked));
  }

  /// Adds a leak without printing it. For leaks that the test framework prints.
  void keep(LeakedCase leaked) {
    const ReentrancyGuard guard;
    cases_.push_back(std::move(leaked));
  }

  /// Prints that the step `what` failed with `status`, and makes the test run fail.
  void add_failure(std::string_view what, const Status& status) {
    const ReentrancyGuard guard;
    say(std::string(what) + ": " + std::string(status.message()) + "\n");
    failed_ = true;
  }

  /// Prints that the case `name` failed in its second run, so its leaks are unknown.
  void add_unrepeatable(std::string_view name) {
    const ReentrancyGuard guard;
    say("\"" + std::string(name) + "\" passes once and fails when it runs again in the same " +
        "process; whether it leaks is not known\n");
  }

  void say_again(std::size_t suspects) {
    const ReentrancyGuard guard;
    say(std::to_string(suspects) + (suspects == 1 ? " test case has" : " test cases have") +
        " left memory behind and " + (suspects == 1 ? "runs" : "run") +
        " again, to tell leaks from caches\n");
  }

  [[nodiscard]] const std::vector<LeakedCase>& cases() const noexcept { return cases_; }
  [[nodiscard]] bool all_well() const noexcept { return cases_.empty() && !failed_; }

 private:
  static void say(const std::string& text) {
    constexpr int kStandardError = 2;
    os::write_all(kStandardError, "alloctap: " + text);
  }

  std::vector<LeakedCase> cases_;
  bool failed_ = false;
};

/// Writes the leaks in `notes` as JUnit XML to the file that ALLOCTAP_JUNIT names. If
/// GITHUB_ACTIONS is "true", also writes annotations to standard output. A write error fails the
/// test run. Does not write SARIF: for that, pass `LeakNotes::cases` to `add_leaks` and use
/// `SarifFindings`, which needs RapidJSON. Control plane.
inline void write_leak_reports(LeakNotes& notes) {
  const ReentrancyGuard guard;
  Findings findings;
  for (const LeakedCase& leaked : notes.cases()) add_leaks(findings, leaked);
  const char* const junit = std::getenv("ALLOCTAP_JUNIT");
  if (junit != nullptr && *junit != '\0') {
    const Status status = write_findings(findings, JunitFindings{}, FileOutput(junit));
    if (!status.ok()) notes.add_failure("cannot write what ALLOCTAP_JUNIT names", status);
  }
  const char* const github = std::getenv("GITHUB_ACTIONS");
  if (github == nullptr || std::string_view(github) != "true") return;
  constexpr int kStandardOutput = 1;
  const Status status =
      write_findings(findings, GithubFindings{}, DescriptorOutput(kStandardOutput));
  if (!status.ok()) notes.add_failure("cannot write annotations", status);
}

}  // namespace alloctap::testing
