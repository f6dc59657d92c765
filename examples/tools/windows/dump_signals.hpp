#pragma once

#include "../dump_signals.hpp"

namespace alloctap::run {

/// Windows has no signals; a named event asks there.
inline constexpr std::array<DumpSignal, 0> kDumpSignals{};

}  // namespace alloctap::run
