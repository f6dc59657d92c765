/// The rules that say which of the program's blocks are no leaks, and which faults are expected.
#pragma once

#include <alloctap/snapshot/suppressions.hpp>

#include "settings.hpp"

namespace alloctap::run {

/// Reads the files that `settings` name, and where leaks are asked for what the program brings
/// itself. Before the program starts, because it may change what it can see of the file system.
/// Errors go to stderr.
void load_suppressions(const Settings& settings) noexcept;

/// What was loaded; nullptr where nobody asked for leaks or named a file. Runs inside malloc.
[[nodiscard]] const Suppressions* loaded_suppressions() noexcept;

/// Whether some of that is about faults. Runs inside malloc.
[[nodiscard]] bool has_misuse_rules() noexcept;

}  // namespace alloctap::run
