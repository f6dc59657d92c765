/// From an address in code to the unwind tables of its module.
#pragma once

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "alloctap/elf/mapped_image.hpp"
#include "alloctap/elf/unwind_tables.hpp"
#include "alloctap/os/find_module.hpp"

namespace alloctap::elf {

/// The unwind tables of the module whose first byte is mapped at `start`, and which is loaded as
/// its program headers say. `file` is the start of its file, aligned to 8, and the only memory that
/// is read. The tables may be read as far as the segment that holds their header reaches: linkers
/// put .eh_frame behind it, and beyond may be a gap that nobody may read. Nothing where the module
/// has no tables or `file` does not tell. Runs anywhere.
inline std::optional<UnwindTables> unwind_tables_of_image(std::span<const std::byte> file,
                                                          std::uintptr_t start) noexcept {
  const auto image = read_mapped_image(file, start);
  if (!image) return std::nullopt;
  const auto segments = find_segments(file);
  const auto is_header = [](const auto& segment) { return segment.p_type == PT_GNU_EH_FRAME; };
  const auto header = std::find_if(segments.begin(), segments.end(), is_header);
  if (header == segments.end()) return std::nullopt;
  const auto holds_header = [header](const auto& segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & PF_R) != 0 &&
           header->p_vaddr >= segment.p_vaddr &&
           header->p_vaddr - segment.p_vaddr < segment.p_filesz;
  };
  const auto holder = std::find_if(segments.begin(), segments.end(), holds_header);
  if (holder == segments.end()) return std::nullopt;
  UnwindTables tables;
  tables.header = image->bias + header->p_vaddr;
  tables.low = image->bias + holder->p_vaddr;
  tables.high = tables.low + holder->p_filesz;
  return tables;
}

/// The unwind tables of the module that holds `pc`; nothing where no module does, or it has none:
/// GCC links a program with -static (not -static-pie) so that it has no .eh_frame_hdr, unless told
/// -Wl,--eh-frame-hdr. Code that registers its tables itself (`__register_frame`) is not found.
/// Allocates nothing and takes no lock; may run inside malloc. The answer holds as long as the
/// module stays loaded. errno may change.
inline std::optional<UnwindTables> find_unwind_tables(std::uintptr_t pc) noexcept {
  constexpr std::size_t kPage = 4096;
  const os::LoadedModule module = os::find_module(pc);
  if (module.start == 0) return std::nullopt;
  const std::span file(reinterpret_cast<const std::byte*>(module.start),
                       std::min(kPage, module.end - module.start));
  const auto tables = unwind_tables_of_image(file, module.start);
  if (tables) return tables;
  // The program headers are elsewhere: tools that change finished files move them to the end.
  if (module.unwind_tables == 0) return std::nullopt;
  return UnwindTables{module.unwind_tables, module.start, module.end};
}

}  // namespace alloctap::elf
