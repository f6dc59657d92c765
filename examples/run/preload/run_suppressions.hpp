/// The rules that say which of the program's blocks are no leaks.
#pragma once

#include <alloctap/snapshot/suppressions.hpp>

#include "settings.hpp"

namespace alloctap::run {

/// Reads the files that `settings` name, and what the program brings itself; nothing where there
/// are none. Before the program starts, because it may change what it can see of the file system.
/// Errors go to stderr.
void load_suppressions(const Settings& settings) noexcept;

/// What was loaded; nullptr where nobody asked for leaks.
[[nodiscard]] const Suppressions* loaded_suppressions() noexcept;

}  // namespace alloctap::run
