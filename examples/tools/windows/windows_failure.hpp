/// Errors of Windows as the launcher tells them.
#pragma once

#include <string>

#include "alloctap/message_text.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/errors.hpp"
#include "alloctap/status.hpp"

namespace alloctap::run {

/// "WHAT: the words of Windows for `error` (error N)". What is missing is kNotFound, what may not
/// be is kPermissionDenied, as shells tell them apart.
[[nodiscard]] inline Status system_failure(DWORD error, const std::string& what) {
  const int known = os::negated_error(error);
  const std::string message = join_text(what, ": ", os::error_text(known), " (error ", error, ")");
  return known == -ENOENT || known == -ENOTDIR ? Status::not_found(message)
                                               : Status::permission_denied(message);
}

[[nodiscard]] inline HANDLE open_to_read(const std::wstring& path) {
  const HANDLE file = ::CreateFileW(path.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE,
                                    nullptr, OPEN_EXISTING, 0, nullptr);
  return file == INVALID_HANDLE_VALUE ? nullptr : file;
}

}  // namespace alloctap::run
