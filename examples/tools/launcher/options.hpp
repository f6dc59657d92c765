/// The command line of alloctap-run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "alloctap/status.hpp"
#include "settings.hpp"

namespace alloctap::run {

/// One `--dump FORMAT=PATH`, or `--output PATH`; the path as the user wrote it.
struct DumpRequest {
  /// The option and its value, for messages.
  std::string argument;
  DumpFormat format = format_of<TextDump>;
  std::string path;
};

/// One `--modules=REGEX`, or `--not-modules=REGEX`, which leaves out.
struct ModuleChoice {
  std::string pattern;
  bool leaves_out = false;
};

struct Options {
  HookChoice hook = kDefaultHook;
  std::vector<ModuleChoice> modules;
  bool mappings = true;
  std::vector<DumpRequest> dumps;
  StackChoice stack = StackChoice::kUnwindTable;
  std::uint32_t max_frames = kDefaultFrames;
  std::uint64_t mean_bytes = 0;
  std::uint64_t min_size = 0;
  std::uint64_t max_size = UINT64_MAX;
  std::uint64_t event_bytes = 0;
  std::int64_t interval_ns = 0;
  std::uint64_t threshold_bytes = 0;
  std::int32_t dump_signal = 0;
  /// Whether what the program says of itself is heard.
  bool tags = false;
  /// What `--checks` lists, one after the other; empty: nothing is checked.
  std::string checks;
  /// Whether functions of strings are among them.
  bool string_checks = false;
  std::int32_t error_exit_code = 0;
  bool follow_children = false;
  ChildrenHint children_hint = ChildrenHint::kWithReport;
  /// With files of suppressions that ask for leaks at least `kLive`.
  LeakChoice leaks = LeakChoice::kNone;
  /// Files of suppressions, as the user wrote them.
  std::vector<std::string> suppressions;
  /// PROGRAM and its arguments, a part of argv: a null pointer stands behind the last.
  std::span<char*> command;
  /// The answer to --help or --version; where there is one, nothing is to be started.
  std::string answer;

  /// Whether some blocks are not recorded, or have no stack taken.
  [[nodiscard]] bool chooses_blocks() const noexcept {
    return mean_bytes > 1 || min_size > 0 || max_size < UINT64_MAX;
  }
};

/// Reads everything before PROGRAM; what follows it is never looked at. The error names the value
/// and the remedy.
[[nodiscard]] Result<Options> parse_options(std::span<char*> arguments);

}  // namespace alloctap::run
