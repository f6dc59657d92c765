/// Definitions for os/linux/file.hpp.
#pragma once

#include <charconv>
#include <cstring>

#include "alloctap/macros.hpp"
#include "alloctap/os/linux/file.hpp"

namespace alloctap::os {

/// Returns true if the last component of `path` is a name below /proc. Compares device numbers,
/// because seccomp filters that permit writing reports may forbid fstatfs.
ALLOCTAP_INLINE bool is_in_procfs(const char* path) noexcept {
  struct stat status{};
  struct stat procfs{};
  return ::lstat(path, &status) == 0 && ::lstat("/proc/self", &procfs) == 0 &&
         status.st_dev == procfs.st_dev;
}

/// Returns the negated error if `path` is a symbolic link that the kernel does not follow; else 0.
ALLOCTAP_INLINE int check_links(const char* path) noexcept {
  struct stat status{};
  if (::lstat(path, &status) != 0 || !S_ISLNK(status.st_mode)) return 0;
  return ::stat(path, &status) == 0 || errno == ENOENT ? 0 : -errno;
}

/// Replaces a symbolic link in `path`, a buffer of PATH_MAX bytes, by its target. Returns 1 if
/// `path` was a link, 0 if not, or the negated error.
ALLOCTAP_INLINE int follow_link(char* path) noexcept {
  char target[PATH_MAX];
  const ssize_t length = ::readlink(path, target, sizeof target);
  if (length < 0 || is_in_procfs(path)) return 0;
  const char* const slash = target[0] == '/' ? nullptr : std::strrchr(path, '/');
  const std::size_t start = slash == nullptr ? 0 : static_cast<std::size_t>(slash + 1 - path);
  const std::size_t bytes = static_cast<std::size_t>(length);
  if (start + bytes >= PATH_MAX) return -ENAMETOOLONG;
  std::memcpy(path + start, target, bytes);
  path[start + bytes] = '\0';
  return 1;
}

ALLOCTAP_INLINE FollowedPath::FollowedPath(const char* path) noexcept
    : path_(path), error_(check_links(path)) {
  const std::size_t length = std::strlen(path);
  if (error_ != 0 || length >= sizeof target_) return;
  std::memcpy(target_, path, length + 1);
  path_ = target_;
  int result = 0;
  // The kernel follows at most 40 links, too.
  for (int i = 0; i < 40; ++i) {
    result = follow_link(target_);
    if (result <= 0) break;
  }
  if (result != 0) error_ = result < 0 ? result : -ELOOP;
}

ALLOCTAP_INLINE bool is_written_through(const char* path) noexcept {
  struct stat status{};
  if (::stat(path, &status) != 0 || S_ISDIR(status.st_mode)) return false;
  return !S_ISREG(status.st_mode) || is_in_procfs(path);
}

/// Returns the writable descriptor of this process that `path` names; -1 for another file.
ALLOCTAP_INLINE int own_descriptor(const char* path) noexcept {
  const char* const slash = std::strrchr(path, '/');
  const std::string_view name(slash == nullptr ? path : slash + 1);
  int descriptor = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), descriptor);
  if (error != std::errc() || end != name.data() + name.size() || !is_in_procfs(path)) return -1;
  struct stat there{};
  struct stat here{};
  const bool is_same = ::stat(path, &there) == 0 && ::fstat(descriptor, &here) == 0 &&
                       there.st_dev == here.st_dev && there.st_ino == here.st_ino;
  if (!is_same) return -1;
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY ? descriptor : -1;
}

ALLOCTAP_INLINE File open_through(const char* path, int& error) noexcept {
  const int own = own_descriptor(path);
  if (own < 0) return open_for_appending(path, error);
  const int copy = ::fcntl(own, F_DUPFD_CLOEXEC, 0);
  error = copy < 0 ? -errno : 0;
  return File(copy);
}

ALLOCTAP_INLINE File create_like(const char* path, const char* model, int& error) noexcept {
  struct stat status{};
  if (::stat(model, &status) != 0 || !S_ISREG(status.st_mode)) {
    return create_for_writing(path, error);
  }
  const mode_t permissions = status.st_mode & 0777;
  File file = open_file(path, O_WRONLY | O_CREAT | O_EXCL, error, static_cast<int>(permissions));
  // Adds the permissions that the umask removed. File systems without permissions refuse this.
  if (error == 0 && ::fstat(file.descriptor(), &status) == 0 &&
      (status.st_mode & 0777) != permissions) {
    static_cast<void>(::fchmod(file.descriptor(), permissions));
  }
  return file;
}

}  // namespace alloctap::os
