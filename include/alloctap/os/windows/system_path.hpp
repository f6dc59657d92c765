/// Path of the Windows directory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/utf8.hpp"
#include "alloctap/os/windows/wide_path.hpp"

namespace alloctap::os {

/// Returns true if the paths are equal except for the case of ASCII letters, which Windows ignores.
inline bool is_same_path(std::string_view one, std::string_view other) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [&](char a, char b) { return lower(a) == lower(b); });
}

/// The path of the Windows directory.
class SystemPath {
 public:
  constexpr SystemPath() noexcept = default;

  /// Returns the path; empty on failure. Control plane; allocates nothing.
  [[nodiscard]] static SystemPath read() noexcept {
    SystemPath path;
    std::array<wchar_t, MAX_PATH> wide{};
    const UINT units = ::GetSystemWindowsDirectoryW(wide.data(), static_cast<UINT>(wide.size()));
    if (units == 0 || units >= wide.size()) return path;
    path.length_ = to_utf8({wide.data(), units}, path.text_).size();
    use_slashes(std::span(path.text_).first(path.length_));
    return path;
  }

  /// Returns true if `path`, with '/' separators, is below the Windows directory.
  [[nodiscard]] bool holds(std::string_view path) const noexcept {
    return length_ > 0 && path.size() > length_ && path[length_] == '/' &&
           is_same_path(path.substr(0, length_), {text_.data(), length_});
  }

 private:
  std::array<char, 3 * MAX_PATH> text_{};
  std::size_t length_ = 0;
};

}  // namespace alloctap::os
