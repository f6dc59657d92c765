/// What the tracker in the program is told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "alloctap/status.hpp"
#include "launcher/dump_targets.hpp"
#include "launcher/options.hpp"

namespace alloctap::run {

/// What the options name, found and checked.
struct ResolvedFiles {
  std::vector<ResolvedDump> dumps;
  std::vector<std::string> suppressions;
};

/// For a program that is, or will be, the process `pid`.
[[nodiscard]] Result<ResolvedFiles> resolve_files(const Options& options, std::int32_t pid);

/// As settings.hpp describes it.
[[nodiscard]] std::string encode_settings(const Options& options, const ResolvedFiles& files,
                                          std::int32_t pid);

}  // namespace alloctap::run
