/// All that a file holds.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string_view>

#include "alloctap/guard/arena_array.hpp"
#include "alloctap/os/file.hpp"

namespace alloctap {

/// Reads `path`, which may be a device or a pipe, to its end and appends it to `contents`, at most
/// `most` bytes. Returns 0, or the negated system error: `-EFBIG` where there is more, `-ENOMEM`
/// where the system has no memory for it. What was read until then is in `contents`. Control plane.
[[nodiscard]] inline int read_file(const char* path, std::size_t most,
                                   ArenaArray<char>& contents) noexcept {
  constexpr std::size_t kStep = 64 * 1024;
  int error = 0;
  const os::File file = os::open_for_reading(path, error);
  while (error == 0) {
    const std::size_t filled = contents.size();
    if (contents.capacity() - filled < kStep && !contents.reserve(2 * filled + kStep)) {
      return -ENOMEM;
    }
    const std::ptrdiff_t count =
        os::read_some(file.descriptor(), {contents.data() + filled, kStep});
    if (count <= 0) return static_cast<int>(count);
    if (!contents.resize_for_overwrite(filled + static_cast<std::size_t>(count))) return -ENOMEM;
    if (contents.size() > most) return -EFBIG;
  }
  return error;
}

/// The bytes of `contents`.
[[nodiscard]] inline std::string_view text_of(const ArenaArray<char>& contents) noexcept {
  return {contents.data(), contents.size()};
}

}  // namespace alloctap
