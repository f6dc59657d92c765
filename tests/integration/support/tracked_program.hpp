/// Runs a program with and without alloctap-run.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/support/dump.hpp"
#include "tests/integration/support/process.hpp"
#include "tests/support/temporary_directory.hpp"

namespace alloctap::testing {

/// A program in a directory of its own, which is its working directory.
class TrackedProgram {
 public:
  explicit TrackedProgram(std::vector<std::string> arguments)
      : command_{.arguments = std::move(arguments), .directory = directory_.file("")} {}

  /// How the program is run; both ways have it in common.
  [[nodiscard]] Command& command() { return command_; }
  [[nodiscard]] const Command& untracked() const { return command_; }

  /// With the report at `dump_path()`; `options` are alloctap-run's.
  [[nodiscard]] Command tracked(const std::vector<std::string>& options = {}) const {
    return tracked_to("json=" + dump_path(), options);
  }

  /// With `--dump=<dump>`.
  [[nodiscard]] Command tracked_to(const std::string& dump,
                                   const std::vector<std::string>& options = {}) const {
    Command command = command_;
    std::vector<std::string> front{ALLOCTAP_RUN_BINARY, "--dump=" + dump};
    front.insert(front.end(), options.begin(), options.end());
    front.push_back("--");
    command.arguments.insert(command.arguments.begin(), front.begin(), front.end());
    return command;
  }

  [[nodiscard]] std::string file(const std::string& name) const { return directory_.file(name); }
  [[nodiscard]] std::string dump_path() const { return file("dump.json"); }
  [[nodiscard]] Dump dump() const { return Dump(dump_path()); }

  /// The names of the files in the directory.
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.file(""))) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

 private:
  TemporaryDirectory directory_;
  Command command_;
};

}  // namespace alloctap::testing
