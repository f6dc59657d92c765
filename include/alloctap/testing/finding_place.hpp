/// Where findings are in the source, as other programs name it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "alloctap/testing/finding.hpp"
#include "alloctap/testing/framework_frames.hpp"
#include "alloctap/testing/leaked_case.hpp"

namespace alloctap::testing {

/// A line of a file; an empty one where nothing is known, line 0 where only the file is.
struct SourcePlace {
  std::string file;
  std::uint32_t line = 0;
};

[[nodiscard]] inline bool has_drive(std::string_view path) noexcept {
  return path.size() > 1 && path[1] == ':';
}

/// `file` as seen from the directory `root`, with slashes; as it is where it is not below it, or
/// where `root` is empty.
[[nodiscard]] inline std::string path_below(std::string_view file, std::string_view root) {
  std::string path(file);
  std::string parent(root);
  if (has_drive(path)) {
    std::replace(path.begin(), path.end(), '\\', '/');
    std::replace(parent.begin(), parent.end(), '\\', '/');
  }
  while (parent.ends_with('/')) parent.pop_back();
  const bool is_below = !root.empty() && path.size() > parent.size() + 1 &&
                        path.starts_with(parent) && path[parent.size()] == '/';
  return is_below ? path.substr(parent.size() + 1) : path;
}

/// Whether the frame is of the C++ standard library, which works for whoever calls it.
[[nodiscard]] inline bool is_of_standard_library(const FrameText& frame) noexcept {
  const std::string_view name = qualified_name(frame.function);
  return name.starts_with("std::") || name.starts_with("__gnu_cxx::");
}

/// Where to show `finding`: the place that it names, or that of the innermost frame of its first
/// stack that is below `root`; where none is, of the innermost that is not of the standard library,
/// or that has a place at all. In paths below `root`.
[[nodiscard]] inline SourcePlace place_of(const Finding& finding, std::string_view root) {
  if (!finding.file.empty()) return {path_below(finding.file, root), finding.line};
  SourcePlace innermost;
  SourcePlace innermost_own;
  if (finding.stacks.empty()) return innermost;
  for (const FrameText& frame : finding.stacks.front().frames) {
    if (frame.file.empty()) continue;
    SourcePlace place{path_below(frame.file, root), frame.line};
    if (place.file != path_below(frame.file, {})) return place;
    if (innermost.file.empty()) innermost = place;
    if (innermost_own.file.empty() && !is_of_standard_library(frame)) innermost_own = place;
  }
  return innermost_own.file.empty() ? innermost : innermost_own;
}

/// `path` as a reference by URI (RFC 3986): relative ones stay so.
[[nodiscard]] inline std::string uri_of(std::string_view path) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-._~/";
  std::string uri = has_drive(path) ? "file:///" : path.starts_with('/') ? "file://" : "";
  const std::size_t drive = has_drive(path) ? 2 : 0;
  uri += path.substr(0, drive);
  for (const char character : path.substr(drive)) {
    const auto byte = static_cast<unsigned char>(character);
    const bool is_letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
    const bool is_digit = byte >= '0' && byte <= '9';
    if (is_letter || is_digit || kPlain.find(character) != std::string_view::npos) {
      uri += character;
    } else {
      uri += {'%', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return uri;
}

}  // namespace alloctap::testing
