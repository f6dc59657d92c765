/// Functions of ntdll.dll, found without the loader.
#pragma once

#include <cstdint>
#include <string_view>

#include "alloctap/os/find_module.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/export_table.hpp"

// Import slot with the address of a function that only ntdll.dll defines.
extern "C" const void* const __imp_NtClose;

namespace alloctap::os {

/// Returns the function `name` of ntdll.dll; 0 if undefined. Takes no lock, allocates nothing.
inline std::uintptr_t find_system_function(std::string_view name) noexcept {
  const auto inside = reinterpret_cast<std::uintptr_t>(__imp_NtClose);
  return ExportTable(find_module(inside).start).find(name);
}

}  // namespace alloctap::os
