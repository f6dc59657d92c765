#pragma once

#include <cstdint>

#include "alloctap/os/find_module.hpp"
#include "alloctap/os/function_symbol.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/export_table.hpp"

namespace alloctap::os {

/// The size is from the function's unwind table entry; 0 for leaf functions without an entry.
inline FunctionSymbol find_function_symbol(const void* address) noexcept {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  const LoadedModule module = find_module(place);
  if (module.start == 0) return {};
  const std::uintptr_t offset = place - module.start;
  FunctionSymbol symbol{.name = ExportTable(module.start).name_at(offset)};
  if (symbol.name == nullptr) return {};
  DWORD64 base = 0;
  const auto* entry = ::RtlLookupFunctionEntry(place, &base, nullptr);
  if (entry != nullptr && entry->BeginAddress == offset) {
    symbol.bytes = entry->EndAddress - entry->BeginAddress;
  }
  return symbol;
}

}  // namespace alloctap::os
