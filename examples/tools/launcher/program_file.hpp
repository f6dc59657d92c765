/// Which file the system executes for a program's name.
#pragma once

#include <string>
#include <string_view>

#include "alloctap/status.hpp"

namespace alloctap::run {

struct ProgramFile {
  /// What is handed to exec.
  std::string path;
  /// The file whose code runs in the end: `path`, or the interpreter of that script.
  std::string image;
  /// A script without a "#!" line: no program to the system, but one that the shell runs.
  bool needs_shell = false;
};

inline constexpr char kShell[] = "/bin/sh";

/// Looks `name` up like execvp, in PATH unless it holds a '/', and follows "#!" lines. A missing
/// file is kNotFound, one that cannot be executed kPermissionDenied.
[[nodiscard]] Result<ProgramFile> find_program(const std::string& name);

/// The interpreter that a script's first line names; empty where the system takes it for none.
/// `head` is the start of the file.
[[nodiscard]] std::string_view interpreter_of(std::string_view head);

}  // namespace alloctap::run
