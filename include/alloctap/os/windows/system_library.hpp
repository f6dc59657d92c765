/// Lookup of ntdll.dll's functions without calling the loader.
#pragma once

#include <cstdint>
#include <string_view>

#include "alloctap/os/find_module.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/export_table.hpp"

// Import slot of a function that is defined by ntdll.dll and no other library.
extern "C" const void* const __imp_NtClose;

namespace alloctap::os {

/// Returns the function `name` of ntdll.dll; 0 if undefined. Takes no lock, allocates nothing.
inline std::uintptr_t find_system_function(std::string_view name) noexcept {
  const auto inside = reinterpret_cast<std::uintptr_t>(__imp_NtClose);
  return ExportTable(find_module(inside).start).find(name);
}

}  // namespace alloctap::os
