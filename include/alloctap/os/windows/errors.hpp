/// Maps Windows errors to POSIX errors or to numbers above all POSIX errors, and errors to texts.
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>

#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

inline constexpr int kFirstWindowsError = 100'000;

struct ErrorName {
  DWORD windows;
  int posix;
  const char* text;
};

/// If several entries have one POSIX number, the text of the first is used.
inline constexpr std::array kErrorNames{
    ErrorName{ERROR_FILE_NOT_FOUND, ENOENT, "No such file or directory"},
    ErrorName{ERROR_PATH_NOT_FOUND, ENOENT, ""},
    ErrorName{ERROR_BAD_NETPATH, ENOENT, ""},
    ErrorName{ERROR_BAD_PATHNAME, ENOENT, ""},
    ErrorName{ERROR_INVALID_NAME, ENOENT, ""},
    ErrorName{ERROR_ACCESS_DENIED, EACCES, "Permission denied"},
    ErrorName{ERROR_FILE_EXISTS, EEXIST, "File exists"},
    ErrorName{ERROR_ALREADY_EXISTS, EEXIST, ""},
    ErrorName{ERROR_INVALID_HANDLE, EBADF, "Bad file descriptor"},
    ErrorName{ERROR_NOT_ENOUGH_MEMORY, ENOMEM, "Cannot allocate memory"},
    ErrorName{ERROR_OUTOFMEMORY, ENOMEM, ""},
    ErrorName{ERROR_COMMITMENT_LIMIT, ENOMEM, ""},
    ErrorName{ERROR_DISK_FULL, ENOSPC, "No space left on device"},
    ErrorName{ERROR_HANDLE_DISK_FULL, ENOSPC, ""},
    ErrorName{ERROR_TOO_MANY_OPEN_FILES, EMFILE, "Too many open files"},
    ErrorName{ERROR_FILE_TOO_LARGE, EFBIG, "File too large"},
    ErrorName{ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG, "File name too long"},
    ErrorName{ERROR_DIRECTORY, ENOTDIR, "Not a directory"},
    ErrorName{ERROR_INVALID_PARAMETER, EINVAL, "Invalid argument"},
    ErrorName{ERROR_BROKEN_PIPE, EPIPE, "Broken pipe"},
    ErrorName{ERROR_NO_DATA, EPIPE, ""},
};

inline int negated_error(DWORD error) noexcept {
  for (const ErrorName& name : kErrorNames) {
    if (name.windows == error) return -name.posix;
  }
  return -kFirstWindowsError - static_cast<int>(error);
}

inline int negated_last_error() noexcept { return negated_error(::GetLastError()); }

struct WindowsErrorText {
  std::atomic<DWORD> error{0};
  std::atomic<bool> ready{false};
  char text[200]{};
};

/// Cache of Windows' error texts, filled on demand. Small, because few errors lack a POSIX number.
class WindowsErrorTexts {
 public:
  /// Returns the text; "unknown error" if Windows has no text or the cache is full.
  static const char* find(DWORD error) noexcept {
    for (WindowsErrorText& text : texts_) {
      DWORD owner = 0;
      text.error.compare_exchange_strong(owner, error);
      if (owner == 0) fetch(text);
      if (owner == 0 || owner == error) return text.ready.load() ? text.text : kUnknown;
    }
    return kUnknown;
  }

 private:
  static constexpr const char* kUnknown = "unknown error";

  static void fetch(WindowsErrorText& text) noexcept {
    constexpr DWORD kOneLine = FORMAT_MESSAGE_MAX_WIDTH_MASK;
    const DWORD length =
        ::FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS | kOneLine,
                         nullptr, text.error.load(), 0, text.text, sizeof text.text, nullptr);
    // Windows ends the text in a blank instead of a newline.
    if (length > 0 && text.text[length - 1] == ' ') text.text[length - 1] = '\0';
    text.ready.store(length > 0);
  }

  static inline constinit std::array<WindowsErrorText, 16> texts_{};
};

inline const char* text_of_error(int error) noexcept {
  for (const ErrorName& name : kErrorNames) {
    if (name.posix == error) return name.text;
  }
  if (error == EISDIR) return "Is a directory";
  return error < kFirstWindowsError
             ? "unknown error"
             : WindowsErrorTexts::find(static_cast<DWORD>(error - kFirstWindowsError));
}

}  // namespace alloctap::os
