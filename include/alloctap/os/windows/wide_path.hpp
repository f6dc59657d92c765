/// Conversion between UTF-8 and UTF-16 without malloc, Windows paths, and the Windows directory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cwchar>
#include <span>
#include <string_view>

#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// Returns the number of bytes that `text` has as UTF-8.
inline std::size_t utf8_length(std::wstring_view text) noexcept {
  if (text.empty()) return 0;
  return static_cast<std::size_t>(::WideCharToMultiByte(
      CP_UTF8, 0, text.data(), static_cast<int>(text.size()), nullptr, 0, nullptr, nullptr));
}

/// Stores `text` as UTF-8 in `buffer` and returns the result, cut between characters if too long.
inline std::string_view to_utf8(std::wstring_view text, std::span<char> buffer) noexcept {
  // Without room, WideCharToMultiByte would return the required length.
  if (buffer.empty()) return {};
  const int room = static_cast<int>(buffer.size());
  while (!text.empty()) {
    const int bytes = ::WideCharToMultiByte(CP_UTF8, 0, text.data(), static_cast<int>(text.size()),
                                            buffer.data(), room, nullptr, nullptr);
    if (bytes > 0) return {buffer.data(), static_cast<std::size_t>(bytes)};
    // Each UTF-16 unit takes at most three bytes of UTF-8.
    const auto too_long = text.size() - std::min(text.size(), buffer.size() / 3);
    text.remove_suffix(std::max<std::size_t>(too_long / 2, 1));
  }
  return {buffer.data(), 0};
}

enum class BadText : bool { kReplaced, kRefused };

/// Stores `text` as UTF-16 in `buffer` and returns it. Returns "" if the result does not fit, or if
/// `text` is invalid UTF-8 and `bad` is kRefused.
inline std::wstring_view to_utf16(std::string_view text, std::span<wchar_t> buffer,
                                  BadText bad = BadText::kRefused) noexcept {
  if (text.empty()) return {};
  const DWORD flags = bad == BadText::kRefused ? MB_ERR_INVALID_CHARS : 0;
  const int units =
      ::MultiByteToWideChar(CP_UTF8, flags, text.data(), static_cast<int>(text.size()),
                            buffer.data(), static_cast<int>(buffer.size()));
  return {buffer.data(), static_cast<std::size_t>(units)};
}

/// Replaces '\' separators by '/', which all paths in alloctap have.
inline void use_slashes(std::span<char> path) noexcept {
  std::replace(path.begin(), path.end(), '\\', '/');
}

/// A UTF-8 path, converted for a file function. Beyond the length limit, the path is made absolute
/// and has the prefix \\?\ ("Naming Files, Paths, and Namespaces"). Owns mapped pages.
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
