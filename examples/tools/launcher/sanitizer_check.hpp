/// Whether a program's sanitizer lets it be tracked.
#pragma once

#include <string>

#include "alloctap/status.hpp"
#include "hook_settings.hpp"

namespace alloctap::run {

/// Refuses a program that a sanitizer was built into, or a library that it needs, if calls cannot
/// be seen by `hook` without harm to either; says what can be done. `path` names an ELF file of
/// this machine.
[[nodiscard]] Status check_sanitizers(const std::string& path, HookChoice hook);

}  // namespace alloctap::run
