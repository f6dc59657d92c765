/// Source locations of findings, as paths and URIs.
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

/// A source location. `file` is empty if unknown; `line` is 0 if only the file is known.
struct SourcePlace {
  std::string file;
  std::uint32_t line = 0;
};

[[nodiscard]] inline bool has_drive(std::string_view path) noexcept {
  return path.size() > 1 && path[1] == ':';
}

/// Returns `file` relative to the directory `root`, with slashes. Returns `file` unchanged if it is
/// not below `root`, or if `root` is empty.
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

/// Returns true for frames of the C++ standard library, whose callers are more informative.
[[nodiscard]] inline bool is_of_standard_library(const FrameText& frame) noexcept {
  const std::string_view name = qualified_name(frame.function);
  return name.starts_with("std::") || name.starts_with("__gnu_cxx::");
}

/// Returns the location to show for `finding`. Prefers the finding's own location. Otherwise uses
/// the innermost frame of the first stack that is, in order of preference: below `root`, outside of
/// the standard library, or any frame with a location. Paths are relative to `root`.
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

/// Returns `path` as a URI reference (RFC 3986); relative paths stay relative.
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
