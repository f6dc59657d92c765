/// How the launcher tells that it cannot start the program.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "alloctap/os/file.hpp"

namespace alloctap::run {

/// The exit codes of shells for a program that is missing or cannot be executed, else 2.
[[nodiscard]] inline int exit_code(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kNotFound:
      return 127;
    case absl::StatusCode::kPermissionDenied:
      return 126;
    default:
      return 2;
  }
}

/// A value as a message names it: in quotes, and on one line whatever it holds.
[[nodiscard]] inline std::string in_quotes(std::string_view value) {
  return absl::StrCat("'", absl::Utf8SafeCHexEscape({value.data(), value.size()}), "'");
}

/// The system's words for an error, without a lock or a static buffer.
[[nodiscard]] inline const char* error_text(int error) noexcept { return os::error_text(-error); }

/// What stopped a program from being found or executed, in the code that leads to 127 or 126.
[[nodiscard]] inline absl::Status program_error(int error, const std::string& message) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  return missing ? absl::NotFoundError(message) : absl::PermissionDeniedError(message);
}

}  // namespace alloctap::run
