/// What a man page and a shell's completion say of a command, taken from its table of options.
#pragma once

#include <string>
#include <vector>

namespace alloctap::run {

struct CommandOption {
  /// "-o", "--output".
  std::vector<std::string> names;
  /// The name of its value in help; empty for an option that has none.
  std::string value;
  /// What the value can be, as far as that is a list. In FORMAT=PATH, the formats.
  std::vector<std::string> values;
  std::string description;
  bool may_repeat = false;

  [[nodiscard]] bool takes_value() const { return !value.empty(); }
  /// Whether the value is a path, or ends in one behind a '='.
  [[nodiscard]] bool takes_path() const {
    return value.find("PATH") != value.npos || value == "FILE" || value.ends_with(".json");
  }
};

struct Command {
  std::string name;
  std::string version;
  std::string description;
  /// What stands behind the options.
  std::string arguments;
  /// Lines that a shell takes, with what they are for behind them; may be empty.
  std::string examples;
  std::string footer;
  std::vector<CommandOption> options;
  /// How arguments are completed; unused where they are a program and its own arguments.
  CommandOption argument;
  bool runs_program = false;
};

[[nodiscard]] std::string man_page(const Command& command);
[[nodiscard]] std::string bash_completion(const Command& command);
[[nodiscard]] std::string zsh_completion(const Command& command);

}  // namespace alloctap::run
