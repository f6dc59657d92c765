#include "diff/options.hpp"

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "byte_count.hpp"
#include "option_values.hpp"
#include "tool_options.hpp"

namespace alloctap::run {
namespace {

constexpr char kTool[] = "alloctap-diff";
constexpr char kArguments[] = "BEFORE.json AFTER.json";

constexpr std::array<std::string_view, 2> kMatchNames{"places", "functions"};

std::string quoted(const std::string& value) { return join_text("'", escaped_text(value), "'"); }

Status set_files(const DiffTexts& texts, DiffOptions& options) {
  if (texts.files.size() != 2) {
    const std::size_t files = texts.files.size();
    return Status::invalid_argument(
        files == 1 ? "there is 1 file" : join_text("there are ", files, " files"),
        "; write alloctap-diff BEFORE.json AFTER.json");
  }
  options.before = texts.files[0];
  options.after = texts.files[1];
  return Status();
}

Status set_allowed(const std::string& text, DiffOptions& options) {
  options.allowed_growth = parse_bytes(text);
  if (options.allowed_growth) return Status();
  return Status::invalid_argument("--allow ", quoted(text),
                                  ": write a number of bytes, such as 0, 4096, 512K or 2M");
}

Status set_match(const std::string& text, DiffOptions& options) {
  options.match = text == "functions" ? StackMatch::kFunctions : StackMatch::kPlaces;
  if (text == "functions" || text == "places") return Status();
  return Status::invalid_argument("--match ", quoted(text), ": unknown; write places or functions");
}

Status set_most(const std::string& text, DiffOptions& options) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, options.most_stacks);
  if (error == std::errc{} && stop == end) return Status();
  return Status::invalid_argument("--most ", quoted(text), ": write a whole number");
}

Status set_page(const std::string& text, DiffOptions& options) {
  options.page = text;
  if (!text.empty()) return Status();
  return Status::invalid_argument("--html: the path is empty");
}

Result<DiffOptions> interpret(const CLI::App& app, const DiffTexts& texts) {
  DiffOptions options;
  Status status = set_files(texts, options);
  if (app.count("--allow") > 0) status.update(set_allowed(texts.allow, options));
  if (app.count("--match") > 0) status.update(set_match(texts.match, options));
  if (app.count("--most") > 0) status.update(set_most(texts.most, options));
  if (app.count("--html") > 0) status.update(set_page(texts.page, options));
  if (!status.ok()) return status;
  return options;
}

}  // namespace

void describe(CLI::App& app, DiffTexts& texts) {
  app.description(
      "Shows which call stacks hold more or less memory in one report than in another.");
  add_answers(app, kTool);
  app.formatter(std::make_shared<ToolFormatter>(kTool, kArguments));
  app.add_option("FILES", texts.files, "The report before and the one after.")
      ->option_text(kArguments)
      ->allow_extra_args();
  app.add_option("--allow", texts.allow,
                 "Exit with 1 where more than BYTES more are live than before.\n"
                 "BYTES is a whole number, or one with K, M or G. Default: any\n"
                 "growth is fine, for looking is not judging.")
      ->option_text("BYTES");
  CLI::Option* match =
      app.add_option("--match", texts.match,
                     "Which stacks are the same: places (that made the same calls in the\n"
                     "same builds of the files) or functions (that went through the same\n"
                     "functions, for two builds of one program). Default: places.")
          ->option_text("CHOICE");
  note_values(match, kMatchNames);
  app.add_option("--most", texts.most, "Show at most N stacks in each list. Default: 20.")
      ->option_text("N");
  app.add_option("--html", texts.page,
                 "Write a page to PATH too, for any browser: flame graphs and tables\n"
                 "of what grew and what shrank, by functions. Both reports must be\n"
                 "whole for it.")
      ->option_text("PATH");
  app.footer(
      "Reports are what alloctap-run --dump json=PATH writes.\n"
      "Exit status: 0; 1 where memory grew by more than allowed, or a report was not\n"
      "whole (what was readable is compared); 2 where nothing could be compared.");
}

Result<DiffOptions> parse_diff_options(std::span<char*> arguments) {
  CLI::App app;
  DiffTexts texts;
  describe(app, texts);
  Result<std::string> answer = parse_or_answer(app, kTool, arguments);
  if (!answer.ok()) return answer.status();
  if (!answer->empty()) {
    DiffOptions options;
    options.answer = *std::move(answer);
    return options;
  }
  return interpret(app, texts);
}

}  // namespace alloctap::run
