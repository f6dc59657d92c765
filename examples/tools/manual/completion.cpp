/// Completion for bash, by the functions of bash-completion, and for zsh.
#include <algorithm>
#include <string>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "alloctap/message_text.hpp"
#include "manual/command.hpp"

namespace alloctap::run {
namespace {

/// The name of the shell's function.
std::string function_of(const Command& command) {
  return join_text("_", absl::StrReplaceAll(command.name, {{"-", "_"}}));
}

std::string words(const CommandOption& option) { return absl::StrJoin(option.values, " "); }

/// Returns the names of all options that take a value, as a pattern of bash.
std::string names_with_value(const Command& command) {
  std::string names;
  for (const CommandOption& option : command.options) {
    if (!option.takes_value()) continue;
    append_text(names, names.empty() ? "" : " | ", absl::StrJoin(option.names, " | "));
  }
  return names;
}

/// Completes a value in $cur. Behind the '=' of FORMAT=PATH stands a path.
std::string bash_value(const CommandOption& option) {
  const std::string list = join_text("-W '", words(option), "' -- \"$cur\"");
  if (option.values.empty()) return option.takes_path() ? "      _filedir\n" : "";
  if (!option.takes_path()) return join_text("      COMPREPLY=($(compgen ", list, "))\n");
  return join_text(R"(      if [[ $cur == *=* ]]; then
        cur=${cur#*=}
        _filedir
      else
        COMPREPLY=($(compgen -S = )",
                   list, R"())
        [[ ${COMPREPLY-} == *= ]] && compopt -o nospace
)",
                   option.names.empty() ? "        _filedir\n" : "", "      fi\n");
}

/// Finds the program behind the options and hands the rest to its own completion. Bash has split
/// the words at '=' and ':'.
std::string bash_program(const Command& command) {
  return join_text(R"(  local i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --) ((i++)); break ;;
      )",
                   names_with_value(command), R"()
        [[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))
        ((i++))
        while [[ ${COMP_WORDS[i + 1]} == [=:] ]]; do ((i += 2)); done
        ;;
      -*) ;;
      *) break ;;
    esac
  done
  if ((i < COMP_CWORD)) || [[ $i == "$COMP_CWORD" && ($cur != -* || $prev == --) ]]; then
    _command_offset "$i"
    return
  fi
)");
}

/// The first sentence of `text`, for single quotes of zsh.
std::string zsh_text(const std::string& text) {
  const std::string line = absl::StrReplaceAll(text, {{"\n", " "}});
  std::string sentence = line.substr(0, std::min(line.find(". "), line.find(": ")));
  if (sentence.ends_with('.')) sentence.pop_back();
  return absl::StrReplaceAll(sentence, {{"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
}

/// The message and the action of _arguments.
std::string zsh_value(const CommandOption& option) {
  const std::string message = zsh_text(option.value);
  if (option.values.empty()) {
    return join_text(":", message, ":", option.takes_path() ? "_files" : "");
  }
  if (!option.takes_path()) return join_text(":", message, ":(", words(option), ")");
  return join_text(":", message, ":{ if compset -P \"*=\"; then _files; else ",
                   option.names.empty() ? "_files; " : "", "compadd -S = -- ", words(option),
                   "; fi }");
}

std::string zsh_option(const CommandOption& option) {
  std::string specs;
  for (const std::string& name : option.names) {
    const bool is_long = name.starts_with("--");
    const char* value = !option.takes_value() ? "" : is_long ? "=" : "+";
    const std::string excluded =
        option.may_repeat ? "*" : join_text("(", absl::StrJoin(option.names, " "), ")");
    append_text(specs, "  '", excluded, name, value, "[", zsh_text(option.description), "]",
                option.takes_value() ? zsh_value(option) : "", "' \\\n");
  }
  return specs;
}

}  // namespace

std::string bash_completion(const Command& command) {
  const std::string function = function_of(command);
  std::string names, cases, free_values;
  for (const CommandOption& option : command.options) {
    append_text(names, absl::StrJoin(option.names, " "), " ");
    const std::string pattern = absl::StrJoin(option.names, " | ");
    const std::string action = bash_value(option);
    if (!option.takes_value()) continue;
    if (action.empty()) {
      append_text(free_values, free_values.empty() ? "" : " | ", pattern);
    } else {
      append_text(cases, "    ", pattern, ")\n", action, "      return\n      ;;\n");
    }
  }
  if (!free_values.empty()) append_text(cases, "    ", free_values, ") return ;;\n");
  return join_text(
      "# Made from the table of options of ", command.name, ".\n", function, "() {\n",
      "  local cur prev words cword split\n  _init_completion -s || return\n",
      command.runs_program ? bash_program(command) : "", "  case $prev in\n", cases,
      "  esac\n  $split && return\n  case $cur in\n    -*) COMPREPLY=($(compgen -W '", names,
      "' -- \"$cur\")) ;;\n",
      command.runs_program ? "" : join_text("    *)\n", bash_value(command.argument), "      ;;\n"),
      "  esac\n} &&\n  complete -F ", function, " ", command.name, "\n");
}

std::string zsh_completion(const Command& command) {
  std::string text = join_text("#compdef ", command.name, "\n# Made from the table of options of ",
                               command.name, ".\n_arguments -S \\\n");
  for (const CommandOption& option : command.options) append_text(text, zsh_option(option));
  if (command.runs_program) {
    return join_text(text, "  '(-)1:program:_command_names -e' \\\n  '*::arguments:_normal'\n");
  }
  return join_text(text, "  '*", zsh_value(command.argument), "'\n");
}

}  // namespace alloctap::run
