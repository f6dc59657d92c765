/// Report format: annotations of GitHub workflows on standard output.
#pragma once

#include <string>
#include <string_view>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/testing/finding_format.hpp"

namespace alloctap::testing {

/// Writes one workflow command per finding:
///
///     ::error file=src/load.cpp,line=12,title=leak%3A load level::24 bytes in 1 block%0A  load ...
///
/// Write the report to the standard output of a workflow step, such as by `DescriptorOutput(1)`. Of
/// each step, GitHub shows ten errors, ten warnings and ten notices; the step's log contains all.
struct GithubFindings {
  /// Root directory of the repository. Paths below this directory are written relative to it.
  std::string_view source_root = {};

  void write(const Findings& findings, DumpWriter& out) const {
    for (const Finding& finding : findings.all) write(finding, out);
  }

 private:
  void write(const Finding& finding, DumpWriter& out) const {
    const SourcePlace place = place_of(finding, source_root);
    out << "::" << command_of(finding.level) << ' ';
    if (!place.file.empty()) {
      out << "file=" << property(place.file) << ',';
      if (place.line > 0) out << "line=" << place.line << ',';
    }
    out << "title=" << property(title_of(finding)) << "::" << escape(message_of(finding), "%\r\n");
    std::string stacks = stacks_text(finding);
    if (!stacks.empty()) {
      stacks.pop_back();
      out << "%0A" << escape(stacks, "%\r\n");
    }
    out << '\n';
  }

  static std::string_view command_of(FindingLevel level) noexcept {
    switch (level) {
      case FindingLevel::kWarning:
        return "warning";
      case FindingLevel::kNote:
        return "notice";
      case FindingLevel::kError:
        break;
    }
    return "error";
  }

  /// Returns "leak: suite / case".
  static std::string title_of(const Finding& finding) {
    std::string title(rule_id(finding));
    std::string_view between = ": ";
    for (const std::string& part : {finding.test_suite, finding.test_case}) {
      if (part.empty()) continue;
      title += between;
      title += part;
      between = " / ";
    }
    return title;
  }

  static std::string property(std::string_view text) { return escape(text, "%\r\n:,"); }

  static std::string escape(std::string_view text, std::string_view special) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    std::string escaped;
    for (const char character : text) {
      const auto byte = static_cast<unsigned char>(character);
      if (special.find(character) == std::string_view::npos) {
        escaped += character;
      } else {
        escaped += {'%', kDigits[byte / 16], kDigits[byte % 16]};
      }
    }
    return escaped;
  }
};

static_assert(FindingFormat<GithubFindings>);

}  // namespace alloctap::testing
