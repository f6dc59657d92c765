/// Which report a path asks for: by its ending, or by FORMAT= in front.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "alloctap/check/close_name.hpp"
#include "alloctap/message_text.hpp"
#include "settings.hpp"

namespace alloctap::run {

/// Calls `visit(ending, format)` for each ending of files but the names of formats.
template <class Visit>
void for_each_ending(Visit&& visit) {
  for_each_dump_format([&](const auto& row, std::size_t index) {
    for (const std::string_view ending : row.endings) {
      if (!ending.empty()) visit(ending, DumpFormat(index));
    }
  });
}

inline constexpr char kSomeEndings[] = "such as .txt, .html, .json, .folded, .pb.gz or .record";

/// What follows the last '.' of the file's name, with it; empty where there is none.
[[nodiscard]] inline std::string ending_of(std::string_view path) {
  const std::string_view name = path.substr(path.find_last_of("/\\") + 1);
  const std::size_t dot = name.rfind('.');
  return dot == name.npos || dot == 0 ? std::string() : std::string(name.substr(dot));
}

/// False where no format is usual for the ending of `path`.
[[nodiscard]] inline bool find_format_by_ending(const std::string& path, DumpFormat& format) {
  const std::string lower = absl::AsciiStrToLower(path);
  bool found = false;
  for_each_ending([&](std::string_view ending, DumpFormat of_ending) {
    if (!std::string_view(lower).ends_with(ending)) return;
    format = of_ending;
    found = true;
  });
  if (found) return true;
  const std::string ending = ending_of(lower);
  return !ending.empty() && find_name(kFormatNames, ending.substr(1), format);
}

/// Reads FORMAT=PATH; false where no format's name is in front.
[[nodiscard]] inline bool read_named_format(const std::string& argument, DumpFormat& format,
                                            std::string& path) {
  const std::size_t equals = argument.find('=');
  if (equals == argument.npos) return false;
  if (!find_name(kFormatNames, argument.substr(0, equals), format)) return false;
  path = argument.substr(equals + 1);
  return true;
}

/// Returns "; did you mean json?", with the format whose name is close to `name`; empty if there is
/// none.
[[nodiscard]] inline std::string close_format(std::string_view name) {
  CloseName close(name);
  for (const std::string_view format : kFormatNames) close.offer(format);
  return close.found().empty() ? "" : join_text("; did you mean ", std::string(close.found()), "?");
}

/// Returns "; did you mean .html?", with the ending that is close to `ending`; empty if there is
/// none.
[[nodiscard]] inline std::string close_ending(std::string_view ending) {
  if (ending.empty()) return "";
  CloseName close(ending.substr(1));
  for (const std::string_view format : kFormatNames) close.offer(format);
  for_each_ending([&](std::string_view usual, DumpFormat) { close.offer(usual.substr(1)); });
  return close.found().empty() ? ""
                               : join_text("; did you mean .", std::string(close.found()), "?");
}

/// Reads the argument of --output, a path: one without an ending is for text. -o=PATH comes here
/// with its '='. Returns what is wrong with it; empty where nothing is.
[[nodiscard]] inline std::string read_output_argument(const std::string& argument,
                                                      DumpFormat& format, std::string& path) {
  if (read_named_format(argument, format, path)) return "";
  path = argument.starts_with('=') ? argument.substr(1) : argument;
  const std::string ending = ending_of(argument);
  if (find_format_by_ending(argument, format) || ending.empty()) return "";
  std::string close = close_ending(ending);
  return join_text(
      "no format goes by the ending '", escaped_text(ending), "'",
      close.empty() ? join_text("; write one ", kSomeEndings, ", or FORMAT=PATH") : close);
}

}  // namespace alloctap::run
