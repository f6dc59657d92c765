/// The signals that can ask for a dump.
#pragma once

#include <array>
#include <string_view>

namespace alloctap::run {

struct DumpSignal {
  /// Without "SIG".
  std::string_view name;
  int number = 0;
};

}  // namespace alloctap::run

#if defined(_WIN32)
#include "windows/dump_signals.hpp"
#else
#include "posix/dump_signals.hpp"
#endif

namespace alloctap::run {

/// The number of the signal `name`, with or without "SIG"; 0 where it is none of them.
[[nodiscard]] constexpr int find_dump_signal(std::string_view name) noexcept {
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (const DumpSignal& signal : kDumpSignals) {
    if (signal.name == name) return signal.number;
  }
  return 0;
}

/// The name of that signal, without "SIG"; empty where it is none of them.
[[nodiscard]] constexpr std::string_view name_of_dump_signal(int number) noexcept {
  for (const DumpSignal& signal : kDumpSignals) {
    if (signal.number == number) return signal.name;
  }
  return {};
}

}  // namespace alloctap::run
