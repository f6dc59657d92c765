/// Which file Windows executes for a program's name.
#pragma once

#include <span>
#include <string>

#include "alloctap/status.hpp"

namespace alloctap::run {

/// Looks `name` up as the system does where a program is started by its name alone: beside this
/// executable, in the current directory, in the system's and in PATH, with ".exe" where it has no
/// ending. A missing file is kNotFound.
[[nodiscard]] Result<std::wstring> find_program(const std::string& name);

/// The arguments as one line, quoted so that the C libraries read them back as they are ("Parsing C
/// command-line arguments").
[[nodiscard]] std::wstring join_arguments(std::span<char* const> arguments);

}  // namespace alloctap::run
