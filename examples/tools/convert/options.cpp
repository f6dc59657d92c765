#include "convert/options.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "option_values.hpp"
#include "output_argument.hpp"
#include "tool_options.hpp"

namespace alloctap::run {
namespace {

constexpr char kTool[] = "alloctap-convert";
constexpr char kArguments[] = "RECORD [FORMAT=PATH]...";

Status add_target(const std::string& text, ConvertOptions& options) {
  const std::size_t equals = text.find('=');
  ConvertOptions::Target target;
  const bool named =
      equals != std::string::npos && find_name(kFormatNames, text.substr(0, equals), target.format);
  if (!named || equals + 1 == text.size()) {
    const std::string close =
        named || equals == text.npos ? "" : close_format(text.substr(0, equals));
    return Status::invalid_argument(
        "'", escaped_text(text), "': ",
        close.empty()
            ? join_text("write FORMAT=PATH, where FORMAT is one of ", list_of(kFormatNames))
            : join_text("unknown format", close));
  }
  target.path = text.substr(equals + 1);
  options.targets.push_back(target);
  return Status();
}

Status add_output(const std::string& text, ConvertOptions& options) {
  ConvertOptions::Target target;
  std::string why = read_output_argument(text, target.format, target.path);
  if (why.empty() && target.path.empty()) why = "the path is empty";
  if (!why.empty()) {
    return Status::invalid_argument("--output '", escaped_text(text), "': ", why);
  }
  options.targets.push_back(target);
  return Status();
}

Result<ConvertOptions> interpret(const ConvertTexts& texts) {
  const bool has_work = texts.replay || !texts.outputs.empty() || texts.files.size() > 1;
  if (texts.files.empty() || !has_work) {
    return Status::invalid_argument(
        "write alloctap-convert RECORD -o PATH, alloctap-convert RECORD FORMAT=PATH..., or "
        "alloctap-convert --replay RECORD");
  }
  ConvertOptions options;
  options.replay = texts.replay;
  options.record = texts.files[0];
  for (const std::string& text : std::span(texts.files).subspan(1)) {
    if (Status status = add_target(text, options); !status.ok()) return status;
  }
  for (const std::string& text : texts.outputs) {
    if (Status status = add_output(text, options); !status.ok()) return status;
  }
  return options;
}

}  // namespace

void describe(CLI::App& app, ConvertTexts& texts) {
  app.description("Makes other reports of a record.");
  add_answers(app, kTool);
  app.formatter(std::make_shared<ToolFormatter>(kTool, kArguments));
  app.add_option("-o,--output", texts.outputs,
                 "Write a report to PATH, in the format that its ending tells:\n"
                 ".html, .json, .txt, .folded, .pb.gz (pprof), ...; text where it has\n"
                 "none. May be given again for another PATH.")
      ->option_text("PATH")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--replay", texts.replay,
               "Go through the events of RECORD again (alloctap-run --events), and say whether\n"
               "they add up to its numbers.");
  CLI::Option* files = app.add_option("RECORD", texts.files, "What to read, and what to write.");
  note_values(files->option_text(kArguments)->allow_extra_args(), kFormatNames);
  app.footer(join_text(
      "Records are what alloctap-run --dump record=PATH writes. A PATH of - is standard output.\n"
      "FORMAT is one of\n",
      list_of(kFormatNames),
      ".\nExit status: 0; 1 where the record was damaged or cut short (what was readable is\n"
      "written) or is none, or its events add up to other numbers or are not all there; 2\n"
      "where nothing could be read or something not be written."));
}

Result<ConvertOptions> parse_convert_options(std::span<char*> arguments) {
  CLI::App app;
  ConvertTexts texts;
  describe(app, texts);
  Result<std::string> answer = parse_or_answer(app, kTool, arguments);
  if (!answer.ok()) return answer.status();
  if (!answer->empty()) {
    ConvertOptions options;
    options.answer = *std::move(answer);
    return options;
  }
  return interpret(texts);
}

}  // namespace alloctap::run
