/// All that a file holds.
#pragma once

#include <cstddef>
#include <string_view>

#include "alloctap/runtime/arena_array.hpp"

namespace alloctap {

/// Reads `path`, which may be a device or a pipe, to its end and appends it to `contents`, at most
/// `most` bytes. Returns 0, or the negated system error: `-EFBIG` where there is more, `-ENOMEM`
/// where the system has no memory for it. What was read until then is in `contents`. Control plane.
[[nodiscard]] int read_file(const char* path, std::size_t most,
                            ArenaArray<char>& contents) noexcept;

/// The bytes of `contents`.
[[nodiscard]] inline std::string_view text_of(const ArenaArray<char>& contents) noexcept {
  return {contents.data(), contents.size()};
}

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/runtime/impl/file_contents.hpp"
#endif
