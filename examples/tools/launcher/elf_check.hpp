/// Whether the dynamic loader will preload an object into a program.
#pragma once

#include <cstdint>
#include <string>

#include "alloctap/status.hpp"

namespace alloctap::run {

/// What decides about an ELF program.
struct ElfProgram {
  unsigned char file_class = 0;
  unsigned char byte_order = 0;
  std::uint16_t machine = 0;
  /// The dynamic loader (PT_INTERP); empty where there is none, or the machine is not this one.
  std::string loader;
};

/// Reads the headers; kPermissionDenied where they are damaged, as exec would say.
[[nodiscard]] Result<ElfProgram> read_elf_program(const std::string& path);

/// Refuses what is for another machine or another C library, linked statically, or executed in the
/// loader's secure mode. `path` names an ELF file that the caller may execute.
[[nodiscard]] Status check_preloadable(const std::string& path);

/// Whether the ELF file at `path` is written in Go: such a program ends by a system call of its
/// own, with no time for a report. False where that cannot be read.
[[nodiscard]] bool is_go_program(const std::string& path);

}  // namespace alloctap::run
