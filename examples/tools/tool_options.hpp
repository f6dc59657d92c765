/// The part of a command line that alloctap-diff and alloctap-convert have in common.
#pragma once

#include <absl/status/statusor.h>
#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include <CLI/CLI.hpp>
#include <span>
#include <string>

#include "alloctap/version.hpp"

namespace alloctap::run {

/// Adds --help and --version.
inline void add_answers(CLI::App& app, const char* tool) {
  app.set_help_flag("-h,--help", "Print this help and exit.");
  app.set_version_flag("--version", absl::StrCat(tool, " ", kVersionString),
                       "Print the version and exit.");
}

/// What to print instead of doing anything; empty where the program is to do its work.
inline absl::StatusOr<std::string> parse_or_answer(CLI::App& app, const char* tool,
                                                   std::span<char*> arguments) {
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::CallForVersion& version) {
    return absl::StrCat(version.what(), "\n");
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(absl::Utf8SafeCHexEscape(error.what()), "; see ", tool, " --help"));
  }
  return std::string();
}

}  // namespace alloctap::run
