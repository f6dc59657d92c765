/// Files by raw system calls, mapped files, links, and report paths.
///
/// Reads and writes avoid libc's wrappers, which are cancellation points: malloc must not be one.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

#include "alloctap/os/file.hpp"

namespace alloctap::os {

inline int File::close() noexcept {
  const int descriptor = release();
  if (descriptor < 0) return 0;
  return ::syscall(SYS_close, descriptor) == 0 ? 0 : -errno;
}

inline File open_file(const char* path, int flags, int& error, int mode = 0666) noexcept {
  long descriptor = -1;
  do {
    descriptor = ::syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC | O_NOCTTY, mode);
  } while (descriptor < 0 && errno == EINTR);
  error = descriptor < 0 ? -errno : 0;
  return File(static_cast<int>(descriptor));
}

inline File open_for_reading(const char* path, int& error) noexcept {
  return open_file(path, O_RDONLY, error);
}

inline File create_for_writing(const char* path, int& error) noexcept {
  return open_file(path, O_WRONLY | O_CREAT | O_EXCL, error);
}

inline File open_for_appending(const char* path, int& error) noexcept {
  return open_file(path, O_WRONLY | O_APPEND | O_NONBLOCK, error);
}

inline std::ptrdiff_t read_some(int descriptor, std::span<char> buffer) noexcept {
  long count = 0;
  do {
    count = ::syscall(SYS_read, descriptor, buffer.data(), buffer.size());
  } while (count < 0 && errno == EINTR);
  return count < 0 ? -errno : count;
}

/// Blocks until `descriptor` is writable. Needed because the program may have set O_NONBLOCK.
inline void wait_until_writable(int descriptor) noexcept {
  pollfd request{.fd = descriptor, .events = POLLOUT, .revents = 0};
  ::syscall(SYS_ppoll, &request, 1, nullptr, nullptr, 0);
}

/// A scope guard that blocks SIGPIPE on this thread if the file is a pipe or socket. A write
/// without a reader then fails, instead of ending the program.
class PipeSignalBlock {
 public:
  explicit PipeSignalBlock(int descriptor) noexcept {
    struct stat status{};
    if (::fstat(descriptor, &status) != 0) return;
    if (!S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode)) return;
    blocked_ = ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, &kPipeSignal, &mask_before_,
                         sizeof mask_before_) == 0;
    // A SIGPIPE already pending must not be discarded later. Only blocked signals can be pending.
    std::uint64_t pending = 0;
    if ((mask_before_ & kPipeSignal) != 0) {
      ::syscall(SYS_rt_sigpending, &pending, sizeof pending);
    }
    was_pending_ = (pending & kPipeSignal) != 0;
  }
  ~PipeSignalBlock() {
    if (!blocked_) return;
    if (has_arrived_ && !was_pending_) {
      const timespec no_time{};
      ::syscall(SYS_rt_sigtimedwait, &kPipeSignal, nullptr, &no_time, sizeof kPipeSignal);
    }
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask_before_, nullptr, sizeof mask_before_);
  }
  PipeSignalBlock(const PipeSignalBlock&) = delete;
  PipeSignalBlock& operator=(const PipeSignalBlock&) = delete;

  /// Records that a write failed for lack of a reader, so SIGPIPE is pending for this thread.
  void note_arrival() noexcept { has_arrived_ = true; }

 private:
  /// SIGPIPE as a member of the kernel's signal set, in which bit n - 1 is signal n.
  static constexpr std::uint64_t kPipeSignal = std::uint64_t{1} << (SIGPIPE - 1);

  std::uint64_t mask_before_ = 0;
  bool blocked_ = false;
  bool has_arrived_ = false;
  bool was_pending_ = false;
};

inline int write_all(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const long count = ::syscall(SYS_write, descriptor, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      wait_until_writable(descriptor);
    } else if (errno != EINTR) {
      return -errno;
    }
  }
  return 0;
}

inline int write_all_without_signal(int descriptor, std::string_view text) noexcept {
  PipeSignalBlock pipe_signal(descriptor);
  const int error = write_all(descriptor, text);
  if (error == -EPIPE) pipe_signal.note_arrival();
  return error;
}

inline int rename_file(const char* from, const char* to) noexcept {
  return ::rename(from, to) == 0 ? 0 : -errno;
}

inline int remove_file(const char* path) noexcept { return ::unlink(path) == 0 ? 0 : -errno; }

inline const char* error_text(int negated_error) noexcept {
  const char* text = ::strerrordesc_np(-negated_error);
  return text != nullptr ? text : "unknown error";
}

inline FileView FileView::open(const char* path) noexcept {
  int error = 0;
  const File file = open_for_reading(path, error);
  struct stat status{};
  if (error != 0 || ::fstat(file.descriptor(), &status) != 0 || status.st_size <= 0) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (start == MAP_FAILED) return {};
  return FileView({static_cast<const std::byte*>(start), size});
}

inline FileView::~FileView() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

inline std::string_view read_link(const char* path, std::span<char> buffer) noexcept {
  const ssize_t length = ::readlink(path, buffer.data(), buffer.size());
  if (length < 0 || static_cast<std::size_t>(length) == buffer.size()) return {};
  return {buffer.data(), static_cast<std::size_t>(length)};
}

inline std::string_view find_name(const char* path, std::string_view prefix,
                                  std::span<char> buffer) noexcept {
  DIR* const folder = ::opendir(path);
  if (folder == nullptr) return {};
  std::string_view found;
  while (const dirent* const entry = ::readdir(folder)) {
    const std::string_view name(static_cast<const char*>(entry->d_name));
    if (!name.starts_with(prefix)) continue;
    if (name.size() <= buffer.size()) {
      std::copy(name.begin(), name.end(), buffer.begin());
      found = {buffer.data(), name.size()};
    }
    break;
  }
  ::closedir(folder);
  return found;
}

/// Maximum length of a file name without directories, in bytes.
inline constexpr std::size_t kMaxFileNameBytes = NAME_MAX;
inline constexpr std::string_view kPathSeparators = "/";

/// The path at the end of a chain of symbolic links. Does not follow links in /proc/PID/fd, because
/// they mean open descriptors, not the paths that they show.
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

/// Opens the file at `path` for appending, as open_for_appending does. If `path` is a link in /proc
/// to a writable descriptor of this process, duplicates it: both share a file position.
File open_through(const char* path, int& error) noexcept;

/// Creates `path` for writing, with the permissions of the file at `model` if that file exists.
/// Fails if `path` exists.
File create_like(const char* path, const char* model, int& error) noexcept;

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/file.hpp"
#endif
