/// man(7): the language of man pages.
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "alloctap/message_text.hpp"
#include "manual/command.hpp"

namespace alloctap::run {
namespace {

constexpr absl::string_view kExitStatus = "Exit status: ";

/// Text in which nothing is a request or an escape, and hyphens can be copied into a shell.
std::string escaped(absl::string_view text) {
  std::string line =
      absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}, {"'", "\\(aq"}, {"^", "\\(ha"}});
  return line.starts_with('.') ? join_text("\\&", line) : line;
}

std::string bold(absl::string_view text) { return join_text("\\fB", escaped(text), "\\fR"); }
std::string italic(absl::string_view text) { return join_text("\\fI", escaped(text), "\\fR"); }

/// Filled as a paragraph; each line is a request's argument or text.
std::string paragraph(absl::string_view text) {
  std::string lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    append_text(lines, escaped(line), "\n");
  }
  return lines;
}

std::string section(std::string_view title, std::string_view text) {
  return text.empty() ? "" : join_text(".SH ", title, "\n", text);
}

std::string option_paragraphs(const Command& command) {
  std::string text;
  for (const CommandOption& option : command.options) {
    const auto add_bold = [](std::string* out, const std::string& name) {
      append_text(*out, bold(name));
    };
    append_text(text, ".TP\n", absl::StrJoin(option.names, ", ", add_bold));
    if (option.takes_value()) append_text(text, " ", italic(option.value));
    append_text(text, "\n", paragraph(option.description));
  }
  return text;
}

/// A line of them is a command, some spaces and what it is for.
std::string example_paragraphs(absl::string_view examples) {
  std::string text;
  for (const absl::string_view line : absl::StrSplit(examples, '\n', absl::SkipWhitespace())) {
    const absl::string_view example = absl::StripAsciiWhitespace(line);
    const std::size_t argument = example.rfind("./program") + sizeof "./program" - 1;
    append_text(text, ".TP\n", bold(example.substr(0, argument)), "\n",
                paragraph(absl::StripAsciiWhitespace(example.substr(argument))));
  }
  return text;
}

}  // namespace

std::string man_page(const Command& command) {
  std::string summary(absl::StripSuffix(command.description, "."));
  summary.front() = absl::ascii_tolower(static_cast<unsigned char>(summary.front()));
  const std::pair<std::string, std::string> footer =
      absl::StrSplit(command.footer, absl::MaxSplits(kExitStatus, 1));
  return join_text(".\\\" Made from the table of options of ", command.name, ".\n", ".TH ",
                   absl::AsciiStrToUpper(command.name), " 1 \"\" \"alloctap ", command.version,
                   "\" \"User Commands\"\n",
                   section("NAME", escaped(command.name) + " \\- " + escaped(summary)), "\n",
                   section("SYNOPSIS", join_text(bold(command.name), " [", italic("OPTION"),
                                                 "]... ", escaped(command.arguments), "\n")),
                   section("DESCRIPTION", join_text(paragraph(command.description), ".PP\n",
                                                    paragraph(footer.first))),
                   section("OPTIONS", option_paragraphs(command)),
                   section("EXIT STATUS", paragraph(footer.second)),
                   section("EXAMPLES", example_paragraphs(command.examples)),
                   section("SEE ALSO",
                           ".BR alloctap-run (1),\n.BR alloctap-convert (1),\n"
                           ".BR alloctap-diff (1)\n"));
}

}  // namespace alloctap::run
