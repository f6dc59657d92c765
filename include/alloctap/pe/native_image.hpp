/// A parser of a mapped module's headers, in the system's format (ELF or PE).
///
/// `native::read_mapped_image(file, start)` parses `file`, the start of the file whose first byte
/// is mapped at `start`, aligned to 8. Reads only `file`. Runs inside malloc. Returns an optional
/// struct with `bias`, `end` and `build_id`. An address in the file plus `bias` is an address in
/// the process. `end` is one past the module's last byte. `build_id` is a range of bytes that
/// identifies the build, in `file` or in the struct. The range may be empty.
#pragma once

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
