/// What an executable or library says of itself where it is mapped, in the format that modules of
/// this system have.
///
/// `native::read_mapped_image(file, start)` reads `file`, the start of the file whose first byte is
/// mapped at `start`, and nothing else; `file` is aligned to 8. It gives an optional of `bias`
/// (addresses in the file plus it are addresses in the process), `end` (one past the last byte that
/// the module occupies) and `build_id` (a range of bytes, inside of `file` or of itself, that tells
/// one build of the module from another; empty where there is none). Runs anywhere.
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
