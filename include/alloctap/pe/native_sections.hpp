/// Finds out which sections of a module the file marks as writable, in the system's format.
///
/// `native::has_written_section(file, begin, end)` parses `file`, the start of the file whose first
/// byte is mapped. It returns whether the file marks any of `[begin, end)`, byte offsets from
/// there, as writable. Returns nullopt if the format does not record that for memory made read-only
/// since (ELF). Runs inside malloc.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#if defined(_WIN32)
#include "alloctap/pe/section_table.hpp"
namespace alloctap::native {
using pe::has_written_section;
}
#else
namespace alloctap::native {
inline std::optional<bool> has_written_section(std::span<const std::byte>, std::size_t,
                                               std::size_t) noexcept {
  return std::nullopt;
}
}  // namespace alloctap::native
#endif
