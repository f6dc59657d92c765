/// What alloctap-diff and alloctap-convert have in common: they read reports, and say what was
/// wrong by a line on standard error and by their exit status.
#pragma once

#include <cstddef>
#include <cstdio>
#include <exception>
#include <span>
#include <string>

#include "alloctap/message_text.hpp"

namespace alloctap::run {

/// The exit status of one that could not do its work.
inline constexpr int kToolFailed = 2;

/// Prints "TOOL: message"; returns `code`.
inline int say(const char* tool, int code, const std::string& message) {
  std::fputs(join_text(tool, ": ", message, "\n").c_str(), stderr);
  return code;
}

/// The exit status of a program: `parse(arguments)` gives its options or an error, and
/// `work(options)` its status where the options have no `answer` to print instead.
template <class Parse, class Work>
int run_tool(const char* tool, std::span<char*> arguments, Parse&& parse, Work&& work) {
  try {
    const auto options = parse(arguments);
    if (!options.ok()) return say(tool, kToolFailed, std::string(options.status().message()));
    if (options->answer.empty()) return work(*options);
    const bool printed =
        std::fputs(options->answer.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
    return printed ? 0 : say(tool, kToolFailed, "standard output cannot be written");
  } catch (const std::exception& error) {
    return say(tool, kToolFailed, error.what());
  }
}

}  // namespace alloctap::run
