// Linux implementation of output_path.hpp.
#pragma once

#include <linux/limits.h>

#include <cstddef>
#include <string_view>

#include "alloctap/os/file.hpp"

namespace alloctap::os {

/// Longest name of a file, without its directories, in bytes.
inline constexpr std::size_t kMaxFileNameBytes = NAME_MAX;
inline constexpr std::string_view kPathSeparators = "/";

/// The path at the end of a chain of symbolic links. Keeps the links of /proc/PID/fd, which mean
/// open descriptors and not the paths that they contain.
class FollowedPath {
 public:
  /// `path` must outlive this object. Its file need not exist.
  explicit FollowedPath(const char* path) noexcept;
  FollowedPath(const FollowedPath&) = delete;
  FollowedPath& operator=(const FollowedPath&) = delete;

  /// Returns 0, or the negated error if the links lead in a circle, or if the kernel forbids this
  /// user to follow them (fs.protected_symlinks).
  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] const char* c_str() const noexcept { return path_; }

 private:
  const char* path_;
  int error_ = 0;
  char target_[PATH_MAX];
};

/// Returns true if writes must go into what is at `path`: it exists and is no regular file (a pipe,
/// a device), or is below /proc. Returns false for a directory.
[[nodiscard]] bool is_written_through(const char* path) noexcept;

/// Opens what is at `path` for writing at its end, as open_for_appending. Duplicates the descriptor
/// instead if `path` means a writable one of this process, which then shares its position.
File open_through(const char* path, int& error) noexcept;

/// Creates `path` for writing, with the permissions of the file at `model` if that exists. Fails
/// if `path` exists.
File create_like(const char* path, const char* model, int& error) noexcept;

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/output_path.hpp"
#endif
