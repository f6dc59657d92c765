// Backend case 4: in a process of musl, which leaves the pointers of dynamic sections as they are
// in the file, and lists the vdso without a name. Compiled against the other C library's headers,
// so it uses nothing of either but the few functions below, which are the same.
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include <cstdint>

#include "alloctap/elf/symbol_slots.hpp"

extern "C" int puts(const char*);

namespace {

using namespace alloctap::elf;

struct Found {
  unsigned modules = 0;
  unsigned slots_of_malloc = 0;
  unsigned wrong_slots = 0;
  /// Modules that have a bias, and whose entries do not have it in them.
  unsigned left_as_in_file = 0;
  unsigned unnamed_vdso = 0;
};

const ElfW(Dyn) * dynamic_entries(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    return reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
  }
  return nullptr;
}

bool names_are_left_as_in_file(const dl_phdr_info& info) {
  const ElfW(Dyn)* entry = dynamic_entries(info);
  if (entry == nullptr || info.dlpi_addr == 0) return false;
  for (; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) return entry->d_un.d_ptr < info.dlpi_addr;
  }
  return false;
}

int read_module(dl_phdr_info* info, size_t, void* result) {
  Found& found = *static_cast<Found*>(result);
  const LoadedMemory memory(info->dlpi_addr, {info->dlpi_phdr, info->dlpi_phnum});
  const auto section = read_dynamic_section(memory);
  if (!section) return 0;
  ++found.modules;
  found.left_as_in_file += names_are_left_as_in_file(*info) ? 1 : 0;
  // The first one is the program.
  if (found.modules > 1 && info->dlpi_name[0] == '\0') ++found.unnamed_vdso;
  for_each_symbol_slot(memory, *section, [&](const SymbolSlot& slot) {
    if (strcmp(slot.name, "malloc") != 0 || !is_writable_slot(memory, slot)) return;
    ++found.slots_of_malloc;
    const auto held = *reinterpret_cast<const std::uintptr_t*>(slot.address);
    if (held != reinterpret_cast<std::uintptr_t>(&malloc)) ++found.wrong_slots;
  });
  return 0;
}

/// In data, so that the program has a slot that holds nothing but its address.
void* (*volatile allocate)(size_t) = &malloc;

}  // namespace

int main() {
  free(allocate(1));
  free(malloc(1));
  Found found;
  dl_iterate_phdr(&read_module, &found);
  if (found.modules < 2 || found.left_as_in_file < 2) puts("musl's modules are not as expected");
  if (found.slots_of_malloc < 2) puts("slots of malloc were not found");
  if (found.wrong_slots > 0) puts("slots of malloc hold something else");
  if (found.unnamed_vdso > 1) puts("more than one module has no name");
  const bool holds = found.modules >= 2 && found.left_as_in_file >= 2 &&
                     found.slots_of_malloc >= 2 && found.wrong_slots == 0;
  return holds ? 0 : 1;
}
