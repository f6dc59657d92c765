// Linux implementation of output_path.hpp.
#pragma once

#include <linux/limits.h>

#include <cstddef>
#include <string_view>

#include "alloctap/os/file.hpp"

namespace alloctap::os {

/// Maximum length of a file name without directories, in bytes.
inline constexpr std::size_t kMaxFileNameBytes = NAME_MAX;
inline constexpr std::string_view kPathSeparators = "/";

/// The path at the end of a chain of symbolic links. Does not follow the links in /proc/PID/fd,
/// because they mean open descriptors rather than the paths that they show.
class FollowedPath {
 public:
  /// `path` must outlive this object. The file need not exist.
  explicit FollowedPath(const char* path) noexcept;
  FollowedPath(const FollowedPath&) = delete;
  FollowedPath& operator=(const FollowedPath&) = delete;

  /// Returns 0, or the negated error if the links form a loop, or if the kernel forbids this user
  /// to follow them (fs.protected_symlinks).
  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] const char* c_str() const noexcept { return path_; }

 private:
  const char* path_;
  int error_ = 0;
  char target_[PATH_MAX];
};

/// Returns true if the file at `path` must be written directly and not replaced: a pipe, a device,
/// or a file below /proc. Returns false for a directory.
[[nodiscard]] bool is_written_through(const char* path) noexcept;

/// Opens the file at `path` for appending, as open_for_appending does. If `path` names a writable
/// descriptor of this process, duplicates the descriptor, so both share a file position.
File open_through(const char* path, int& error) noexcept;

/// Creates `path` for writing, with the permissions of the file at `model` if that file exists.
/// Fails if `path` exists.
File create_like(const char* path, const char* model, int& error) noexcept;

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/output_path.hpp"
#endif
