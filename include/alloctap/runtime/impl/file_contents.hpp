/// Definitions for runtime/file_contents.hpp.
#pragma once

#include <cerrno>

#include "alloctap/macros.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/runtime/file_contents.hpp"

namespace alloctap {

ALLOCTAP_INLINE int read_file(const char* path, std::size_t most,
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

}  // namespace alloctap
