/// Errors of Windows as the launcher tells them.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "alloctap/os/file.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/errors.hpp"

namespace alloctap::run {

/// "WHAT: the words of Windows for `error` (error N)". What is missing is kNotFound, what may not
/// be is kPermissionDenied, as shells tell them apart.
[[nodiscard]] inline absl::Status system_failure(DWORD error, const std::string& what) {
  const int known = os::negated_error(error);
  const std::string message =
      absl::StrCat(what, ": ", os::error_text(known), " (error ", error, ")");
  return known == -ENOENT || known == -ENOTDIR ? absl::NotFoundError(message)
                                               : absl::PermissionDeniedError(message);
}

[[nodiscard]] inline HANDLE open_to_read(const std::wstring& path) {
  const HANDLE file = ::CreateFileW(path.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE,
                                    nullptr, OPEN_EXISTING, 0, nullptr);
  return file == INVALID_HANDLE_VALUE ? nullptr : file;
}

}  // namespace alloctap::run
