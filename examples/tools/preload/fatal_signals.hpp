/// Signals that end the program: the report is written first.
#pragma once

#include <signal.h>

#include "signal_functions.hpp"

namespace alloctap::run {

/// Takes over every signal that is at its default action and would end the process. The program
/// goes on to see the default action (`interposed_signals.cpp`). The report's thread runs. Once per
/// process, also in a followed child after fork. Control plane.
void watch_fatal_signals() noexcept;

/// Gives the signals their default action back: in a child that is not followed.
void stop_watching_fatal_signals() noexcept;

/// After `signal` was given an action: takes it over again if that is the default one, or will be
/// after the first signal.
void keep_watching(int signal) noexcept;

/// Replaces our action, read back for `signal`, by the one that the program asked for.
void show_as_program_sees(int signal, struct sigaction& action) noexcept;
[[nodiscard]] SignalHandler show_as_program_sees(int signal, SignalHandler handler) noexcept;

/// Never returns if a signal is about to end the process: an exit that comes meanwhile must not
/// win.
void yield_to_fatal_signal() noexcept;

}  // namespace alloctap::run
