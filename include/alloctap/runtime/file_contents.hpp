/// Reads a whole file into the arena.
#pragma once

#include <cstddef>
#include <string_view>

#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// Appends at most `most` bytes of `path`, which may be a device or a pipe, to `contents`. Returns
/// 0 or a negated errno: `-EFBIG` if the file is larger, `-ENOMEM` if out of memory. After an error
/// `contents` has the bytes read before the error. Control plane.
[[nodiscard]] int read_file(const char* path, std::size_t most,
                            ArenaArray<char>& contents) noexcept;

[[nodiscard]] inline std::string_view text_of(const ArenaArray<char>& contents) noexcept {
  return {contents.data(), contents.size()};
}

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/file_contents.hpp"
#endif
