/// usage: alloctap-manual DIRECTORY
/// Writes the man pages of the commands, and their completions for bash and zsh, below DIRECTORY:
/// all by the tables of options that the commands themselves use.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "alloctap/version.hpp"
#include "convert/options.hpp"
#include "diff/options.hpp"
#include "launcher/command_line.hpp"
#include "manual/command.hpp"
#include "option_values.hpp"

namespace alloctap::run {
namespace {

namespace fs = std::filesystem;

CommandOption read_option(const CLI::Option& option) {
  CommandOption read;
  for (const std::string& name : option.get_snames()) read.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) read.names.push_back("--" + name);
  if (option.get_expected_min() > 0) read.value = option.get_option_text();
  read.values = values_of(option);
  read.description = option.get_description();
  read.may_repeat = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  return read;
}

Command read_command(const std::string& name, const CLI::App& app) {
  Command command;
  command.name = name;
  command.version = kVersionString;
  command.description = app.get_description();
  command.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) {
      command.argument = read_option(*option);
      command.arguments = option->get_option_text();
    } else {
      command.options.push_back(read_option(*option));
    }
  }
  return command;
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.exceptions(std::ios::failbit | std::ios::badbit);
  file << text;
  file.close();
}

void write_all(const Command& command, const fs::path& directory) {
  write(directory / "man1" / (command.name + ".1"), man_page(command));
  write(directory / "bash" / command.name, bash_completion(command));
  write(directory / "zsh" / ("_" + command.name), zsh_completion(command));
}

void write_all(const fs::path& directory) {
  const CommandLine line;
  Command run = read_command("alloctap-run", line.app());
  run.arguments = kRunArguments;
  run.examples = kRunExamples;
  run.runs_program = true;
  write_all(run, directory);

  CLI::App convert;
  ConvertTexts convert_texts;
  describe(convert, convert_texts);
  write_all(read_command("alloctap-convert", convert), directory);

  CLI::App diff;
  DiffTexts diff_texts;
  describe(diff, diff_texts);
  write_all(read_command("alloctap-diff", diff), directory);
}

}  // namespace
}  // namespace alloctap::run

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: alloctap-manual DIRECTORY\n", stderr);
    return 2;
  }
  try {
    alloctap::run::write_all(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "alloctap-manual: %s\n", error.what());
    return 1;
  }
}
