/// Definitions for os/linux/module_symbols.hpp.
#pragma once

#include <elf.h>
#include <sys/auxv.h>

#include <algorithm>
#include <span>

#include "alloctap/macros.hpp"
#include "alloctap/os/linux/module_symbols.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/virtual_memory.hpp"

#if defined(DLFO_STRUCT_HAS_EH_DBASE)
// Weak, so that programs built here also start with a C library older than 2.35.
extern "C" ALLOCTAP_WEAK int _dl_find_object(void* address, dl_find_object* result) noexcept;
#endif

namespace alloctap::os {

ALLOCTAP_INLINE LoadedModule find_module_in_memory_map(std::uintptr_t address) noexcept {
  constexpr std::size_t kBufferBytes = 64 * 1024;
  auto* buffer = static_cast<char*>(map_pages(kBufferBytes));
  if (buffer == nullptr) return {};
  LoadedModule module;
  bool found = false;
  visit_memory_map({buffer, kBufferBytes}, [&](const MemoryRegion& region) {
    if (region.start > address) return false;
    // Names in brackets are those of anonymous memory, which may hold code of a JIT compiler.
    const bool of_file = may_hold_module(region);
    if (of_file && region.file_offset == 0 && region.readable) module.start = region.start;
    found = of_file && address < region.end;
    module.end = region.end;
    return !found;
  });
  unmap_pages(buffer, kBufferBytes);
  return found && module.start != 0 ? module : LoadedModule{};
}

ALLOCTAP_INLINE LoadedModule find_vdso(std::uintptr_t address) noexcept {
  const std::uintptr_t start = ::getauxval(AT_SYSINFO_EHDR);
  if (start == 0 || address < start) return {};
  const auto& header = *reinterpret_cast<const ElfW(Ehdr)*>(start);
  const std::span segments(reinterpret_cast<const ElfW(Phdr)*>(start + header.e_phoff),
                           header.e_phnum);
  LoadedModule module;
  for (const auto& segment : segments) {
    if (segment.p_type != PT_LOAD) continue;
    module.end = std::max(module.end, start + segment.p_offset + segment.p_memsz);
  }
  module.start = start;
  return address < module.end ? module : LoadedModule{};
}

#if defined(DLFO_STRUCT_HAS_EH_DBASE)

ALLOCTAP_INLINE LoadedModule find_module(std::uintptr_t address) noexcept {
  if (&::_dl_find_object == nullptr) return find_module_in_memory_map(address);
  dl_find_object found;
  if (::_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) return find_vdso(address);
  LoadedModule module{.start = reinterpret_cast<std::uintptr_t>(found.dlfo_map_start),
                      .end = reinterpret_cast<std::uintptr_t>(found.dlfo_map_end),
                      .unwind_tables = reinterpret_cast<std::uintptr_t>(found.dlfo_eh_frame)};
  // For a static program, glibc reports only the code, not the program headers before the code.
  const bool is_code_alone = module.unwind_tables != 0 && (module.unwind_tables < module.start ||
                                                           module.unwind_tables >= module.end);
  if (is_code_alone) module.start = ::getauxval(AT_PHDR) & ~(page_size() - 1);
  return module;
}

#else

ALLOCTAP_INLINE LoadedModule find_module(std::uintptr_t address) noexcept {
  const LoadedModule vdso = find_vdso(address);
  return vdso.start != 0 ? vdso : find_module_in_memory_map(address);
}

#endif

}  // namespace alloctap::os
