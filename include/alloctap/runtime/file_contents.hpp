/// Reads a whole file into the arena.
#pragma once

#include <cstddef>
#include <string_view>

#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// Appends the contents of `path`, which may be a device or a pipe, to `contents`, at most `most`
/// bytes. Returns 0 or a negated errno: `-EFBIG` if the file is larger, `-ENOMEM` if out of memory.
/// After an error `contents` has what was read so far. Control plane.
[[nodiscard]] int read_file(const char* path, std::size_t most,
                            ArenaArray<char>& contents) noexcept;

[[nodiscard]] inline std::string_view text_of(const ArenaArray<char>& contents) noexcept {
  return {contents.data(), contents.size()};
}

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/file_contents.hpp"
#endif
