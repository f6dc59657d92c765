// Windows implementation of output_path.hpp.
#pragma once

#include <cstddef>
#include <string_view>

#include "alloctap/os/file.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// Maximum length of a file name without directories, in bytes; safe for every text.
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

/// Opens the file at `path` for appending.
inline File open_through(const char* path, int& error) noexcept {
  return open_for_appending(path, error);
}

/// Creates `path` for writing. The new file inherits the permissions of its directory.
inline File create_like(const char* path, const char* /*model*/, int& error) noexcept {
  return create_for_writing(path, error);
}

}  // namespace alloctap::os
