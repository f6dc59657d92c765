/// The part of a command line that the tools have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "alloctap/check/close_name.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/status.hpp"
#include "alloctap/version.hpp"

namespace alloctap::run {

/// Adds --help and --version.
inline void add_answers(CLI::App& app, const char* tool) {
  app.set_help_flag("-h,--help", "Print this help and exit.");
  app.set_version_flag("--version", join_text(tool, " ", kVersionString),
                       "Print the version and exit.");
}

/// The help of `tool`, whose line of usage ends in `arguments`; a description of them is the
/// footer's.
class ToolFormatter : public CLI::Formatter {
 public:
  ToolFormatter(std::string tool, std::string arguments)
      : usage_(join_text("Usage: ", tool, " [OPTION]... ", arguments, "\n")) {}

  std::string make_usage(const CLI::App*, std::string) const override { return usage_; }
  std::string make_positionals(const CLI::App*) const override { return ""; }

 private:
  std::string usage_;
};

/// What is wrong with `option`, which `app` does not know; with the option that may be meant.
[[nodiscard]] inline std::string unknown_option(const CLI::App& app, const char* tool,
                                                const std::string& option) {
  const std::string_view text = option;
  const std::string_view value = text.substr(std::min(text.find('='), text.size()));
  const std::string_view name = text.substr(0, text.size() - value.size());
  CloseName close(name.substr(std::min(name.find_first_not_of('-'), name.size())));
  for (const CLI::Option* known : app.get_options({})) {
    for (const std::string& long_name : known->get_lnames()) close.offer(long_name);
  }
  const std::string meant =
      close.found().empty() ? "; see "
                            : join_text("; did you mean --", std::string(close.found()), "? See ");
  return join_text("unknown option '", escaped_text(option), "'", meant, tool, " --help");
}

/// The first argument that `app` could not use and that looks like an option; nullptr if there is
/// none.
[[nodiscard]] inline const std::string* find_option(const std::vector<std::string>& unused) {
  const auto found = std::find_if(unused.begin(), unused.end(), [](const std::string& argument) {
    return argument.starts_with('-');
  });
  return found == unused.end() ? nullptr : &*found;
}

/// What to print instead of doing anything; empty where the program is to do its work.
inline Result<std::string> parse_or_answer(CLI::App& app, const char* tool,
                                           std::span<char*> arguments) {
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::CallForVersion& version) {
    return join_text(version.what(), "\n");
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> unused = app.remaining();
    if (const std::string* option = find_option(unused)) {
      return Status::invalid_argument(unknown_option(app, tool, *option));
    }
    return Status::invalid_argument(escaped_text(error.what()), "; see ", tool, " --help");
  }
  return std::string();
}

}  // namespace alloctap::run
