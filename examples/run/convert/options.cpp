#include "convert/options.hpp"

#include <CLI/CLI.hpp>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "alloctap/version.hpp"

namespace alloctap::run {
namespace {

std::string format_names() {
  std::string names;
  for (const std::string_view name : kFormatNames) {
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

void describe(CLI::App& app, std::vector<std::string>& texts) {
  app.set_help_flag("-h,--help", "Print this help and exit.");
  app.set_version_flag("--version", absl::StrCat("alloctap-convert ", kVersionString),
                       "Print the version and exit.");
  app.add_option("RECORD", texts, "What to read, and what to write.")
      ->option_text("RECORD FORMAT=PATH...")
      ->allow_extra_args();
  app.footer(absl::StrCat(
      "Records are what alloctap-run --dump record=PATH writes. FORMAT is one of\n", format_names(),
      ".\nExit status: 0; 1 where the record was damaged or cut short (what was readable is\n"
      "written) or is none; 2 where nothing could be read or something not be written."));
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

absl::StatusOr<ConvertOptions> interpret(const std::vector<std::string>& texts) {
  if (texts.size() < 2) {
    return absl::InvalidArgumentError("write alloctap-convert RECORD FORMAT=PATH...");
  }
  ConvertOptions options;
  options.record = texts[0];
  for (const std::string& text : std::span(texts).subspan(1)) {
    if (absl::Status status = add_target(text, options); !status.ok()) return status;
  }
  return options;
}

}  // namespace

absl::StatusOr<ConvertOptions> parse_convert_options(std::span<char*> arguments) {
  CLI::App app("Makes other reports of a record.");
  std::vector<std::string> texts;
  describe(app, texts);
  ConvertOptions answer;
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::CallForHelp&) {
    answer.answer = app.help();
    return answer;
  } catch (const CLI::CallForVersion& version) {
    answer.answer = absl::StrCat(version.what(), "\n");
    return answer;
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(absl::Utf8SafeCHexEscape(error.what()), "; see alloctap-convert --help"));
  }
  return interpret(texts);
}

}  // namespace alloctap::run
