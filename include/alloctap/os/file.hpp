/// Files without buffers of their own: nothing here allocates. May run inside a signal handler.
///
/// Functions return 0 or a positive count on success, and the negated system error on failure.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace alloctap::os {

/// An open file that closes itself. Move-only.
class File {
 public:
  File() noexcept = default;
  explicit File(int descriptor) noexcept : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(other.release()) {}
  File& operator=(File&& other) noexcept;
  ~File() { close(); }

  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Gives up ownership.
  int release() noexcept;
  /// Returns what the system says of the last writes: 0 or the negated error.
  int close() noexcept;

 private:
  int descriptor_ = -1;
};

/// Opens `path` for reading; `error` receives 0 or the negated system error.
File open_for_reading(const char* path, int& error) noexcept;

/// Creates `path` for writing; fails where it exists.
File create_for_writing(const char* path, int& error) noexcept;

/// Opens what is at `path` for writing at its end; creates and empties nothing. Fails on a pipe
/// without a reader, and never waits.
File open_for_appending(const char* path, int& error) noexcept;

/// Reads up to `buffer.size()` bytes; 0 at the end of the file.
std::ptrdiff_t read_some(int descriptor, std::span<char> buffer) noexcept;

/// Writes all of `text`, however many calls that takes; 0 or the negated error.
int write_all(int descriptor, std::string_view text) noexcept;

int rename_file(const char* from, const char* to) noexcept;
int remove_file(const char* path) noexcept;

/// Whether `path` names something that exists and is not a regular file (a pipe, a device).
bool is_special_file(const char* path) noexcept;

/// The system's words for a negated error, for example "No space left on device".
const char* error_text(int negated_error) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/file.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/file.hpp"
#else
#error "alloctap/os/file.hpp has no implementation for this system"
#endif
