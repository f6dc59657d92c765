/// Files by Windows handles. A descriptor is the lower half of a handle, because the upper half is
/// insignificant ("Interprocess Communication Between 32-bit and 64-bit Applications"). Handles are
/// multiples of 4, so the descriptors 0, 1 and 2 can mean the standard streams.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include "alloctap/os/file.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/console.hpp"
#include "alloctap/os/windows/errors.hpp"
#include "alloctap/os/windows/wide_path.hpp"

namespace alloctap::os {

inline HANDLE handle_of(int descriptor) noexcept {
  constexpr DWORD kStreams[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
  if (descriptor >= 0 && descriptor <= 2) return ::GetStdHandle(kStreams[descriptor]);
  return reinterpret_cast<HANDLE>(static_cast<std::intptr_t>(descriptor));
}

inline File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = other.release();
  }
  return *this;
}

inline int File::release() noexcept { return std::exchange(descriptor_, -1); }

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
  // A pipe whose writer has closed it is at its end.
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

/// Writes as `write_all` does, because Windows has no SIGPIPE.
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

}  // namespace alloctap::os
