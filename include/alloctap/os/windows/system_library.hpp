/// ntdll.dll, without asking the loader.
#pragma once

#include <cstdint>
#include <string_view>

#include "alloctap/os/find_module.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/export_table.hpp"

// Where the loader stored the address of a function of that library, which is no other one's.
extern "C" const void* const __imp_NtClose;

namespace alloctap::os {

/// The function of ntdll.dll that is called `name`; 0 if there is none. Takes no lock, allocates
/// nothing.
inline std::uintptr_t find_system_function(std::string_view name) noexcept {
  const auto inside = reinterpret_cast<std::uintptr_t>(__imp_NtClose);
  return ExportTable(find_module(inside).start).find(name);
}

}  // namespace alloctap::os
