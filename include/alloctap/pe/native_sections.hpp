/// Finds out whether a module's file (ELF or PE) marks a section as writable.
///
/// `native::has_written_section(file, begin, end)` parses `file`, the start of the file whose first
/// byte is mapped. It returns whether a section in `[begin, end)`, byte offsets from that first
/// byte, is marked as writable. Returns nullopt for ELF, which does not record this for memory made
/// read-only after relocation. Runs inside malloc.
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
