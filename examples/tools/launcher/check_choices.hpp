/// What is looked for in the program's blocks, as the user chose it.
#pragma once

#include "alloctap/status.hpp"
#include "launcher/command_line.hpp"
#include "launcher/options.hpp"

namespace alloctap::run {

/// Reads the choices of checks, and with which code to end, into `options`, whose hook, events and
/// leaks are there already. Says the first thing that is wrong.
Status set_checks(const CommandLine& line, Options& options);

}  // namespace alloctap::run
