/// Definitions for pe/native_function.hpp.
#pragma once

#include "alloctap/macros.hpp"
#include "alloctap/pe/native_function.hpp"

#if defined(_WIN32)
#include "alloctap/pe/unwind_info.hpp"
#else
#include "alloctap/elf/find_row.hpp"
#include "alloctap/elf/unwind_tables.hpp"
#endif

namespace alloctap::native {

ALLOCTAP_INLINE FunctionExtent find_function_extent(std::uintptr_t address) noexcept {
#if defined(_WIN32)
  const os::LoadedModule module = os::find_module(address);
  if (module.start == 0) return {};
  const std::span image(reinterpret_cast<const std::byte*>(module.start),
                        module.end - module.start);
  const auto* function = pe::find_function(pe::find_functions(image),
                                           static_cast<std::uint32_t>(address - module.start));
  if (function == nullptr) return {};
  return {module.start + function->begin, module.start + function->end};
#else
  const auto tables = elf::find_unwind_tables(address);
  if (!tables) return {};
  const elf::FoundDescription found = elf::find_frame_description(*tables, address);
  if (found.status != elf::UnwindStatus::kFound) return {};
  return {found.description.begin, found.description.end};
#endif
}

}  // namespace alloctap::native
