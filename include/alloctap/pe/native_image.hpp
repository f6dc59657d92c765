/// Parses a mapped module's headers and sections in the system's format (ELF or PE).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

// A parser of a mapped module's headers, in the system's format (ELF or PE).
//
// `native::read_mapped_image(file, start)` parses `file`, the start of the file whose first byte
// is mapped at `start`, aligned to 8. Reads only `file`. Runs inside malloc. Returns an optional
// struct with `bias`, `end` and `build_id`. An address in the file plus `bias` is an address in
// the process. `end` is one past the module's last byte. `build_id` is a range of bytes that
// identifies the build, in `file` or in the struct. The range may be empty.

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

// Finds out whether a module's file (ELF or PE) marks a section as writable.
//
// `native::has_written_section(file, begin, end)` parses `file`, the start of the file whose first
// byte is mapped. It returns whether a section in `[begin, end)`, byte offsets from that first
// byte, is marked as writable. Returns nullopt for ELF, which does not record this for memory made
// read-only after relocation. Runs inside malloc.

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
