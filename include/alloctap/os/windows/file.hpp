/// Files by Windows handles, console output, mapped files, and report paths.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include "alloctap/os/file.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/errors.hpp"
#include "alloctap/os/windows/wide_path.hpp"

namespace alloctap::os {

inline bool is_console(HANDLE handle) noexcept {
  DWORD mode = 0;
  return ::GetConsoleMode(handle, &mode) != 0;
}

/// Returns the length of the longest prefix of `text` that has at most `most` bytes and ends
/// between UTF-8 characters.
constexpr std::size_t whole_characters(std::string_view text, std::size_t most) noexcept {
  if (text.size() <= most) return text.size();
  const auto goes_on = [&](std::size_t place) {
    return (static_cast<unsigned char>(text[place]) & 0xC0U) == 0x80U;
  };
  std::size_t length = most;
  while (length > 0 && goes_on(length)) --length;
  return length > 0 ? length : most;
}

/// Writes UTF-16, because a console decodes bytes by its code page, rarely UTF-8.
inline bool write_to_console(HANDLE console, std::string_view text) noexcept {
  std::array<wchar_t, 512> buffer;
  while (!text.empty()) {
    const std::size_t bytes = whole_characters(text, buffer.size());
    std::wstring_view wide = to_utf16(text.substr(0, bytes), buffer, BadText::kReplaced);
    while (!wide.empty()) {
      DWORD written = 0;
      const auto units = static_cast<DWORD>(wide.size());
      if (::WriteConsoleW(console, wide.data(), units, &written, nullptr) == 0) return false;
      wide.remove_prefix(written);
    }
    text.remove_prefix(bytes);
  }
  return true;
}

/// Returns the handle whose lower half is `descriptor`. The upper half is insignificant
/// ("Interprocess Communication Between 32-bit and 64-bit Applications"). Handles are multiples of
/// 4, so the descriptors 0, 1 and 2 can mean the standard streams.
inline HANDLE handle_of(int descriptor) noexcept {
  constexpr DWORD kStreams[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
  if (descriptor >= 0 && descriptor <= 2) return ::GetStdHandle(kStreams[descriptor]);
  return reinterpret_cast<HANDLE>(static_cast<std::intptr_t>(descriptor));
}

inline int File::close() noexcept {
  const int descriptor = release();
  if (descriptor < 0) return 0;
  return ::CloseHandle(handle_of(descriptor)) != 0 ? 0 : negated_last_error();
}

/// Opens the file with full sharing: other programs may read, write and rename it meanwhile.
inline File open_file(const char* path, DWORD access, DWORD creation, int& error) noexcept {
  constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  const WidePath wide(path);
  const HANDLE handle = ::CreateFileW(wide.c_str(), access, kShareAll, nullptr, creation,
                                      FILE_ATTRIBUTE_NORMAL, nullptr);
  error = handle == INVALID_HANDLE_VALUE ? negated_last_error() : 0;
  return handle == INVALID_HANDLE_VALUE
             ? File()
             : File(static_cast<int>(reinterpret_cast<std::intptr_t>(handle)));
}

inline File open_for_reading(const char* path, int& error) noexcept {
  return open_file(path, GENERIC_READ, OPEN_EXISTING, error);
}

inline File create_for_writing(const char* path, int& error) noexcept {
  return open_file(path, GENERIC_WRITE, CREATE_NEW, error);
}

inline File open_for_appending(const char* path, int& error) noexcept {
  return open_file(path, FILE_APPEND_DATA | SYNCHRONIZE, OPEN_EXISTING, error);
}

/// Limits a size to the maximum for one call.
inline DWORD call_bytes(std::size_t bytes) noexcept {
  constexpr std::size_t kMaxCount = 1 << 30;
  return static_cast<DWORD>(std::min(bytes, kMaxCount));
}

inline std::ptrdiff_t read_some(int descriptor, std::span<char> buffer) noexcept {
  DWORD count = 0;
  const bool read = ::ReadFile(handle_of(descriptor), buffer.data(), call_bytes(buffer.size()),
                               &count, nullptr) != 0;
  // A pipe that its writer has closed is at its end.
  if (read || ::GetLastError() == ERROR_BROKEN_PIPE) return count;
  return negated_last_error();
}

inline int write_all(int descriptor, std::string_view text) noexcept {
  const HANDLE handle = handle_of(descriptor);
  if (is_console(handle)) return write_to_console(handle, text) ? 0 : negated_last_error();
  while (!text.empty()) {
    DWORD count = 0;
    if (::WriteFile(handle, text.data(), call_bytes(text.size()), &count, nullptr) == 0) {
      return negated_last_error();
    }
    text.remove_prefix(count);
  }
  return 0;
}

/// Does the same as `write_all`, because Windows has no SIGPIPE.
inline int write_all_without_signal(int descriptor, std::string_view text) noexcept {
  return write_all(descriptor, text);
}

inline int rename_file(const char* from, const char* to) noexcept {
  const WidePath wide_from(from);
  const WidePath wide_to(to);
  const bool renamed =
      ::MoveFileExW(wide_from.c_str(), wide_to.c_str(), MOVEFILE_REPLACE_EXISTING) != 0;
  return renamed ? 0 : negated_last_error();
}

inline int remove_file(const char* path) noexcept {
  return ::DeleteFileW(WidePath(path).c_str()) != 0 ? 0 : negated_last_error();
}

inline const char* error_text(int negated_error) noexcept { return text_of_error(-negated_error); }

inline FileView FileView::open(const char* path) noexcept {
  int error = 0;
  const File file = open_for_reading(path, error);
  LARGE_INTEGER size{};
  if (error != 0) return {};
  const HANDLE handle = handle_of(file.descriptor());
  if (::GetFileSizeEx(handle, &size) == 0 || size.QuadPart == 0) return {};
  const Handle section(::CreateFileMappingW(handle, nullptr, PAGE_READONLY, 0, 0, nullptr));
  if (!section) return {};
  const void* const start = ::MapViewOfFile(section.get(), FILE_MAP_READ, 0, 0, 0);
  if (start == nullptr) return {};
  return FileView({static_cast<const std::byte*>(start), static_cast<std::size_t>(size.QuadPart)});
}

inline FileView::~FileView() {
  if (!bytes_.empty()) ::UnmapViewOfFile(bytes_.data());
}

/// Maximum length of a file name without directories, in bytes. Windows permits 255 UTF-16 units,
/// which 255 bytes of UTF-8 never exceed.
inline constexpr std::size_t kMaxFileNameBytes = 255;
inline constexpr std::string_view kPathSeparators = "/\\";

/// A path as it was given. Does not follow symbolic links, because few files on Windows are links.
class FollowedPath {
 public:
  /// `path` must outlive this object.
  explicit FollowedPath(const char* path) noexcept : path_(path) {}

  [[nodiscard]] int error() const noexcept { return 0; }
  [[nodiscard]] const char* c_str() const noexcept { return path_; }

 private:
  const char* path_;
};

/// Returns true if `path` must be written directly and not replaced: it is a pipe or a device.
[[nodiscard]] inline bool is_written_through(const char* path) noexcept {
  int error = 0;
  const File file = open_file(path, 0, OPEN_EXISTING, error);
  return file.is_open() && ::GetFileType(handle_of(file.descriptor())) != FILE_TYPE_DISK;
}

inline File open_through(const char* path, int& error) noexcept {
  return open_for_appending(path, error);
}

/// Creates `path` for writing. The new file inherits the permissions of its directory.
inline File create_like(const char* path, const char* /*model*/, int& error) noexcept {
  return create_for_writing(path, error);
}

}  // namespace alloctap::os
