/// Report format: JUnit XML.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/testing/finding_format.hpp"

namespace alloctap::testing {

/// Returns the XML entity for a `character` that is special in XML or that attribute normalization
/// would change; otherwise an empty string.
[[nodiscard]] constexpr std::string_view xml_entity(char character) noexcept {
  switch (character) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\t':
      return "&#9;";
    case '\n':
      return "&#10;";
    case '\r':
      return "&#13;";
    default:
      return {};
  }
}

/// Escapes `text` for elements and double-quoted attributes. Replaces invalid UTF-8 by U+FFFD, and
/// also U+FFFE and U+FFFF, which XML 1.0 forbids. Omits control characters.
[[nodiscard]] inline std::string xml_text(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string escaped;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view part = text.substr(0, length == 0 ? 1 : length);
    const std::string_view entity = xml_entity(part[0]);
    if (!entity.empty()) {
      escaped += entity;
    } else if (length == 0 || part == "\xEF\xBF\xBE" || part == "\xEF\xBF\xBF") {
      escaped += kReplacement;
    } else if (static_cast<unsigned char>(part[0]) >= ' ') {
      escaped += part;
    }
    text.remove_prefix(part.size());
  }
  return escaped;
}

/// A report in JUnit XML. Has all elements that Ant's schema requires, although most readers need
/// fewer. Each test has one `failure` for all its findings, because some readers show only one per
/// test. Notes and warnings are failures, too. Findings without a test are in the suite "alloctap",
/// in a test that has the rule's id as its name.
struct JunitFindings {
  std::string_view hostname = "localhost";
  /// Time of the tests, as `os::wall_clock_ns` returns it; 0 means the time of the report.
  std::int64_t time_ns = 0;

  void write(const Findings& findings, DumpWriter& out) const {
    const List<Suite> sorted = sort(findings);
    const std::vector<Suite>& suites = sorted.all();
    out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
    for (std::size_t i = 0; i < suites.size(); ++i) write_suite(suites[i], i, out);
    out << "</testsuites>\n";
  }

 private:
  struct Case {
    std::string_view name = {};
    std::uint64_t milliseconds = 0;
    std::vector<const Finding*> findings = {};
  };

  /// A list in insertion order with lookup by name.
  template <class Named>
  class List {
   public:
    Named& find_or_add(std::string_view name) {
      const auto [place, is_new] = places_.try_emplace(name, all_.size());
      if (is_new) all_.emplace_back().name = name;
      return all_[place->second];
    }

    [[nodiscard]] const std::vector<Named>& all() const noexcept { return all_; }

   private:
    std::vector<Named> all_;
    std::map<std::string_view, std::size_t> places_;
  };

  struct Suite {
    std::string_view name = {};
    List<Case> cases = {};
  };

  static List<Suite> sort(const Findings& findings) {
    List<Suite> suites;
    for (const RunTest& test : findings.tests) {
      suites.find_or_add(or_else(test.test_suite, "alloctap"))
          .cases.find_or_add(or_else(test.test_case, "test"))
          .milliseconds += test.milliseconds;
    }
    for (const Finding& finding : findings.all) {
      suites.find_or_add(or_else(finding.test_suite, "alloctap"))
          .cases.find_or_add(or_else(finding.test_case, rule_id(finding)))
          .findings.push_back(&finding);
    }
    return suites;
  }

  static std::string_view or_else(std::string_view text, std::string_view other) noexcept {
    return text.empty() ? other : text;
  }

  void write_suite(const Suite& suite, std::size_t number, DumpWriter& out) const {
    std::uint64_t milliseconds = 0;
    std::size_t failures = 0;
    for (const Case& one : suite.cases.all()) {
      milliseconds += one.milliseconds;
      failures += one.findings.empty() ? 0u : 1u;
    }
    out << "  <testsuite name=\"" << xml_text(suite.name) << "\" package=\"\" id=\"" << number
        << "\" timestamp=\"" << timestamp() << "\" hostname=\"" << xml_text(hostname)
        << "\" tests=\"" << suite.cases.all().size() << "\" failures=\"" << failures
        << "\" errors=\"0\" time=\"" << seconds(milliseconds) << "\">\n    <properties/>\n";
    for (const Case& one : suite.cases.all()) write_case(suite, one, out);
    out << "    <system-out/>\n    <system-err/>\n  </testsuite>\n";
  }

  static void write_case(const Suite& suite, const Case& one, DumpWriter& out) {
    out << "    <testcase name=\"" << xml_text(one.name) << "\" classname=\""
        << xml_text(suite.name) << "\" time=\"" << seconds(one.milliseconds) << "\"";
    if (one.findings.empty()) {
      out << "/>\n";
      return;
    }
    const Finding& first = *one.findings.front();
    out << ">\n      <failure type=\"" << xml_text(rule_id(first)) << "\" message=\"";
    if (one.findings.size() > 1) out << one.findings.size() << " findings: ";
    out << xml_text(message_of(first)) << "\">";
    for (const Finding* finding : one.findings) write_finding(*finding, out);
    out << "</failure>\n    </testcase>\n";
  }

  static void write_finding(const Finding& finding, DumpWriter& out) {
    std::string text(rule_id(finding));
    text += ": ";
    text += message_of(finding);
    text += '\n';
    if (!finding.file.empty()) {
      text += finding.file + (finding.line > 0 ? ":" + std::to_string(finding.line) : "") + '\n';
    }
    text += stacks_text(finding);
    out << xml_text(text);
  }

  static std::string two_digits(unsigned number) {
    return (number < 10 ? "0" : "") + std::to_string(number);
  }

  static std::string seconds(std::uint64_t milliseconds) {
    const std::string rest = std::to_string(1000 + milliseconds % 1000);
    return std::to_string(milliseconds / 1000) + "." + rest.substr(1);
  }

  /// Returns the time in UTC, such as "2024-02-29T23:59:58".
  [[nodiscard]] std::string timestamp() const {
    using namespace std::chrono;
    const nanoseconds since(time_ns == 0 ? os::wall_clock_ns() : time_ns);
    const auto day = floor<days>(since);
    const year_month_day date{sys_days(day)};
    const hh_mm_ss time(floor<std::chrono::seconds>(since - day));
    return std::to_string(static_cast<int>(date.year())) + "-" +
           two_digits(static_cast<unsigned>(date.month())) + "-" +
           two_digits(static_cast<unsigned>(date.day())) + "T" +
           two_digits(static_cast<unsigned>(time.hours().count())) + ":" +
           two_digits(static_cast<unsigned>(time.minutes().count())) + ":" +
           two_digits(static_cast<unsigned>(time.seconds().count()));
  }
};

static_assert(FindingFormat<JunitFindings>);

}  // namespace alloctap::testing
