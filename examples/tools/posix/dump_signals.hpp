#pragma once

#include <signal.h>

#include "../dump_signals.hpp"

namespace alloctap::run {

/// Whose default action would end the process, and which no fault of the program raises.
inline constexpr std::array<DumpSignal, 9> kDumpSignals{{{"HUP", SIGHUP},
                                                         {"INT", SIGINT},
                                                         {"QUIT", SIGQUIT},
                                                         {"USR1", SIGUSR1},
                                                         {"USR2", SIGUSR2},
                                                         {"ALRM", SIGALRM},
                                                         {"TERM", SIGTERM},
                                                         {"IO", SIGIO},
                                                         {"PWR", SIGPWR}}};

}  // namespace alloctap::run
