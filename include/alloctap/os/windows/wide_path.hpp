/// UTF-16 paths for file functions. Paths beyond the length limit must be absolute and have the
/// prefix \\?\ ("Naming Files, Paths, and Namespaces").
#pragma once

#include <algorithm>
#include <cstddef>
#include <cwchar>
#include <string_view>

#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/utf8.hpp"

namespace alloctap::os {

/// Replaces '\' separators by '/', which all paths in alloctap have.
inline void use_slashes(std::span<char> path) noexcept {
  std::replace(path.begin(), path.end(), '\\', '/');
}

/// A UTF-8 path, converted for a file function. Uses mapped pages as long as it exists.
class WidePath {
 public:
  explicit WidePath(const char* path) noexcept : text_(static_cast<wchar_t*>(map_pages(kBytes))) {
    if (text_ == nullptr) return;
    const std::span<wchar_t> room(text_ + kPrefix, kUnits - 1);
    start_ = to_utf16(path, room).empty() ? nullptr : room.data();
    if (start_ != nullptr && std::wcslen(start_) >= kShort) make_long();
  }
  ~WidePath() {
    if (text_ != nullptr) unmap_pages(text_, kBytes);
  }
  WidePath(const WidePath&) = delete;
  WidePath& operator=(const WidePath&) = delete;

  /// Returns the path; "" if the UTF-8 path was empty, invalid or too long. "" names no file.
  [[nodiscard]] const wchar_t* c_str() const noexcept { return start_ != nullptr ? start_ : L""; }

 private:
  /// Maximum length of a path, including space to make it absolute.
  static constexpr std::size_t kUnits = 32 * 1024;
  static constexpr std::size_t kBytes = 3 * kUnits * sizeof(wchar_t);
  /// Maximum length of a directory's path without the prefix, lower than that of a file's.
  static constexpr std::size_t kShort = 248;
  static constexpr std::wstring_view kLong = L"\\\\?\\";
  static constexpr std::size_t kPrefix = 8;

  void make_long() noexcept {
    wchar_t* const whole = text_ + kUnits + 2 * kPrefix;
    const DWORD length = ::GetFullPathNameW(start_, kUnits, whole, nullptr);
    const bool has_drive = length > 2 && length < kUnits && whole[1] == L':';
    // Paths without a drive already have the prefix, or are network paths with another prefix.
    if (!has_drive) return;
    start_ = whole - kLong.size();
    std::copy(kLong.begin(), kLong.end(), start_);
  }

  wchar_t* text_;
  wchar_t* start_ = nullptr;
};

}  // namespace alloctap::os
