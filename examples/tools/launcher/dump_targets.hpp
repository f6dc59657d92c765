/// Where the dumps go, settled before the program starts.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "alloctap/status.hpp"
#include "launcher/options.hpp"
#include "settings.hpp"

namespace alloctap::run {

/// A dump whose path was found to be writable.
struct ResolvedDump {
  DumpFormat format = format_of<TextDump>;
  WriteMode mode = WriteMode::kReplace;
  /// Absolute, because the program may change its directory. A `%p` in the directory part is
  /// replaced: it was the launcher's process that the directory was checked for.
  std::string pattern;
};

/// Checks every path for the process `pid`, which is to be the program's. Leaves nothing behind.
[[nodiscard]] Result<std::vector<ResolvedDump>> resolve_dumps(std::span<const DumpRequest> requests,
                                                              bool follow_children,
                                                              std::int32_t pid);

}  // namespace alloctap::run
