/// Parses a mapped module's headers and sections in the system's format (ELF or PE).
///
/// `native::read_mapped_image(file, start)` parses `file`, the start of the file whose first byte
/// is mapped at `start`, aligned to 8. Returns an optional struct with `bias`, `end` and
/// `build_id`. An address in the file plus `bias` is an address in the process. `end` is one past
/// the module's last byte. `build_id` is a range of bytes, in `file` or in the struct, that
/// identifies the build. The range may be empty.
///
/// `native::has_written_section(file, begin, end)` returns whether a section in `[begin, end)`,
/// offsets from the module's first byte, is marked as writable in `file`. Returns nullopt for ELF,
/// which does not record this for memory made read-only after relocation.
///
/// Both functions read only `file` and run inside malloc.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#if defined(_WIN32)
#include "alloctap/pe/mapped_image.hpp"
namespace alloctap::native {
using pe::read_mapped_image;
}
#else
#include "alloctap/elf/mapped_image.hpp"
namespace alloctap::native {
using elf::read_mapped_image;
}
#endif

#if defined(_WIN32)
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
