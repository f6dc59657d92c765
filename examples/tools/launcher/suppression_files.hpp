/// The files of suppressions, read before the program starts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "alloctap/status.hpp"

namespace alloctap::run {

/// The absolute paths of `files`, each of which can be read and has no wrong line.
[[nodiscard]] Result<std::vector<std::string>> resolve_suppressions(
    std::span<const std::string> files);

/// Whether `files` ask for a report of leaks: unless all their rules are about faults. Those that
/// cannot be read do; `resolve_suppressions` refuses them.
[[nodiscard]] bool ask_for_leaks(std::span<const std::string> files);

}  // namespace alloctap::run
