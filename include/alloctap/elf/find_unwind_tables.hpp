/// Finds the unwind tables of the module that contains a code address.
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

/// Finds the unwind tables of the module mapped at `start` in its program headers. Reads only
/// `file`, the start of the module's file, aligned to 8. The result's bounds are those of the
/// segment with .eh_frame_hdr, because linkers put .eh_frame into it, and a gap may follow the
/// segment. Returns nullopt if the module has no tables or `file` lacks the headers. Runs inside
/// malloc.
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

/// Returns the unwind tables of the module that contains `pc`, or nullopt. GCC's -static (not
/// -static-pie) omits .eh_frame_hdr unless -Wl,--eh-frame-hdr is given. Does not find code
/// registered with `__register_frame`. Allocates nothing and takes no lock. Runs inside malloc. The
/// result is valid while the module stays loaded. May change errno.
inline std::optional<UnwindTables> find_unwind_tables(std::uintptr_t pc) noexcept {
  constexpr std::size_t kPage = 4096;
  const os::LoadedModule module = os::find_module(pc);
  if (module.start == 0) return std::nullopt;
  const std::span file(reinterpret_cast<const std::byte*>(module.start),
                       std::min(kPage, module.end - module.start));
  const auto tables = unwind_tables_of_image(file, module.start);
  if (tables) return tables;
  // The program headers are not at the start, because tools that edit ELF files move them.
  if (module.unwind_tables == 0) return std::nullopt;
  return UnwindTables{module.unwind_tables, module.start, module.end};
}

}  // namespace alloctap::elf
