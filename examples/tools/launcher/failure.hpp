/// How the launcher tells that it cannot start the program.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "alloctap/message_text.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/status.hpp"

namespace alloctap::run {

/// The exit codes of shells for a program that is missing or cannot be executed, else 2.
[[nodiscard]] inline int exit_code(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return 0;
    case StatusCode::kNotFound:
      return 127;
    case StatusCode::kPermissionDenied:
      return 126;
    default:
      return 2;
  }
}

/// A value as a message names it: in quotes, and on one line whatever it holds.
[[nodiscard]] inline std::string in_quotes(std::string_view value) {
  return join_text("'", escaped_text({value.data(), value.size()}), "'");
}

/// The system's words for an error, without a lock or a static buffer.
[[nodiscard]] inline const char* error_text(int error) noexcept { return os::error_text(-error); }

/// What stopped a program from being found or executed, in the code that leads to 127 or 126.
[[nodiscard]] inline Status program_error(int error, const std::string& message) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  return missing ? Status::not_found(message) : Status::permission_denied(message);
}

}  // namespace alloctap::run
