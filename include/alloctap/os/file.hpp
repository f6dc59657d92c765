/// Files: unbuffered access, mapped files, links, and paths of report files.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace alloctap::os {

// File access allocates nothing and may run inside a signal handler. Functions return 0 or a count
// on success, and the negated system error on failure.

/// An owned file descriptor. Move-only.
class File {
 public:
  File() noexcept = default;
  explicit File(int descriptor) noexcept : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(other.release()) {}
  File& operator=(File&& other) noexcept {
    if (this != &other) {
      close();
      descriptor_ = other.release();
    }
    return *this;
  }
  ~File() { close(); }

  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Returns the descriptor and gives up its ownership.
  int release() noexcept { return std::exchange(descriptor_, -1); }
  /// Closes the file. The returned error may be that of an earlier write.
  int close() noexcept;

 private:
  int descriptor_ = -1;
};

/// Opens `path` for reading. Stores 0 or the negated system error in `error`.
File open_for_reading(const char* path, int& error) noexcept;

/// Creates `path` for writing. Fails if the file exists.
File create_for_writing(const char* path, int& error) noexcept;

/// Opens an existing file for appending. Never blocks: fails for a pipe without a reader.
File open_for_appending(const char* path, int& error) noexcept;

/// Reads up to `buffer.size()` bytes. Returns 0 at the end of the file.
std::ptrdiff_t read_some(int descriptor, std::span<char> buffer) noexcept;

/// Writes all of `text`, repeating partial writes.
int write_all(int descriptor, std::string_view text) noexcept;

/// Writes as `write_all` does, but a pipe or socket without a reader causes only an error, no
/// SIGPIPE. Makes additional system calls, which seccomp filters may refuse.
int write_all_without_signal(int descriptor, std::string_view text) noexcept;

int rename_file(const char* from, const char* to) noexcept;
int remove_file(const char* path) noexcept;

/// Returns the system's text for a negated error, such as "No space left on device".
const char* error_text(int negated_error) noexcept;

/// A file mapped for reading as long as this object exists. If another program truncates the file,
/// reads beyond its new end fault. Meant for executables and libraries, which systems and tools
/// replace rather than truncate. Move-only. Control plane.
class FileView {
 public:
  FileView() noexcept = default;
  FileView(FileView&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  FileView& operator=(FileView&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~FileView();

  /// Maps the file at `path` (UTF-8). Returns an empty view if it cannot be opened.
  [[nodiscard]] static FileView open(const char* path) noexcept;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  explicit FileView(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

/// Stores the target of the symbolic link `path` in `buffer` and returns the target. Returns "" if
/// `path` is no link or the target does not fit. May run inside malloc and inside a signal handler.
/// Linux only.
[[nodiscard]] std::string_view read_link(const char* path, std::span<char> buffer) noexcept;

/// Stores in `buffer` and returns the first name with `prefix` that the system lists in the
/// directory `path`; "" if there is none, or if it does not fit. May allocate. Control plane. Linux
/// only.
[[nodiscard]] std::string_view find_name(const char* path, std::string_view prefix,
                                         std::span<char> buffer) noexcept;

// For paths of report files, each system defines `kMaxFileNameBytes`, `kPathSeparators`,
// `FollowedPath`, `is_written_through`, `open_through` and `create_like`. Control plane; they
// allocate nothing.

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/file.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/file.hpp"
#else
#error "alloctap/os/file.hpp has no implementation for this system"
#endif
