#include "convert/options.hpp"

#include <CLI/CLI.hpp>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "option_values.hpp"
#include "tool_options.hpp"

namespace alloctap::run {
namespace {

constexpr char kTool[] = "alloctap-convert";

std::string format_names() {
  std::string names;
  for (const std::string_view name : kFormatNames) {
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

absl::Status add_target(const std::string& text, ConvertOptions& options) {
  const std::size_t equals = text.find('=');
  ConvertOptions::Target target;
  const bool named =
      equals != std::string::npos && find_name(kFormatNames, text.substr(0, equals), target.format);
  if (!named || equals + 1 == text.size()) {
    return absl::InvalidArgumentError(absl::StrCat("'", absl::Utf8SafeCHexEscape(text),
                                                   "': write FORMAT=PATH, where FORMAT is one of ",
                                                   format_names()));
  }
  target.path = text.substr(equals + 1);
  options.targets.push_back(target);
  return absl::OkStatus();
}

absl::StatusOr<ConvertOptions> interpret(const ConvertTexts& texts) {
  if (texts.files.size() < (texts.replay ? 1 : 2)) {
    return absl::InvalidArgumentError(
        "write alloctap-convert RECORD FORMAT=PATH..., or alloctap-convert --replay RECORD");
  }
  ConvertOptions options;
  options.replay = texts.replay;
  options.record = texts.files[0];
  for (const std::string& text : std::span(texts.files).subspan(1)) {
    if (absl::Status status = add_target(text, options); !status.ok()) return status;
  }
  return options;
}

}  // namespace

void describe(CLI::App& app, ConvertTexts& texts) {
  app.description("Makes other reports of a record.");
  add_answers(app, kTool);
  app.add_flag("--replay", texts.replay,
               "Go through the events of RECORD again (alloctap-run --events), and say whether\n"
               "they add up to its numbers.");
  CLI::Option* files = app.add_option("RECORD", texts.files, "What to read, and what to write.");
  note_values(files->option_text("RECORD FORMAT=PATH...")->allow_extra_args(), kFormatNames);
  app.footer(absl::StrCat(
      "Records are what alloctap-run --dump record=PATH writes. A PATH of - is standard output.\n"
      "FORMAT is one of\n",
      format_names(),
      ".\nExit status: 0; 1 where the record was damaged or cut short (what was readable is\n"
      "written) or is none, or its events add up to other numbers or are not all there; 2\n"
      "where nothing could be read or something not be written."));
}

absl::StatusOr<ConvertOptions> parse_convert_options(std::span<char*> arguments) {
  CLI::App app;
  ConvertTexts texts;
  describe(app, texts);
  absl::StatusOr<std::string> answer = parse_or_answer(app, kTool, arguments);
  if (!answer.ok()) return answer.status();
  if (!answer->empty()) {
    ConvertOptions options;
    options.answer = *std::move(answer);
    return options;
  }
  return interpret(texts);
}

}  // namespace alloctap::run
