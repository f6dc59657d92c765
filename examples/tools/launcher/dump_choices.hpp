/// Which reports are written, and where, as the user chose it.
#pragma once

#include "alloctap/status.hpp"
#include "launcher/command_line.hpp"
#include "launcher/options.hpp"

namespace alloctap::run {

/// Reads --dump and --output into `options`. Where no format is named, the ending of the path tells
/// it. The error names the value and the remedy.
Status set_dumps(const CommandLine& line, Options& options);

}  // namespace alloctap::run
