/// Leak reports for continuous integration, written by test framework adapters.
#pragma once

#include <cstdlib>
#include <string_view>

#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/status.hpp"
#include "alloctap/testing/finding.hpp"
#include "alloctap/testing/finding_format.hpp"
#include "alloctap/testing/found_findings.hpp"
#include "alloctap/testing/github_findings.hpp"
#include "alloctap/testing/junit_findings.hpp"
#include "alloctap/testing/leak_notes.hpp"

namespace alloctap::testing {

/// Writes the leaks in `notes` as JUnit XML to the file that ALLOCTAP_JUNIT names. If
/// GITHUB_ACTIONS is "true", also writes annotations to standard output. A write error fails the
/// test run. To write SARIF yourself, pass `LeakNotes::cases` to `add_leaks` and use
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
