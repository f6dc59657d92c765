/// Which parts of a module are written to once it is loaded, in the format that modules of this
/// system have.
///
/// `native::has_written_section(file, begin, end)` reads `file`, the start of the file whose first
/// byte is mapped, and says whether anything in `[begin, end)`, in bytes from there, is for writing
/// as the file has it. Nothing where the format does not tell of what can only be read by now. Runs
/// anywhere.
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
