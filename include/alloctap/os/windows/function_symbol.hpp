#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "alloctap/os/find_module.hpp"
#include "alloctap/os/function_symbol.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// The name under which the module at `start` exports what is at `offset` in it ("PE Format", "The
/// .edata Section").
inline const char* exported_name(std::uintptr_t start, std::uintptr_t offset) noexcept {
  const auto& directory =
      image_headers(start).OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT];
  if (directory.Size == 0) return nullptr;
  const auto& table =
      *reinterpret_cast<const IMAGE_EXPORT_DIRECTORY*>(start + directory.VirtualAddress);
  const auto* functions = reinterpret_cast<const DWORD*>(start + table.AddressOfFunctions);
  const auto* names = reinterpret_cast<const DWORD*>(start + table.AddressOfNames);
  const auto* numbers = reinterpret_cast<const WORD*>(start + table.AddressOfNameOrdinals);
  for (DWORD i = 0; i < table.NumberOfNames; ++i) {
    if (functions[numbers[i]] == offset) return reinterpret_cast<const char*>(start + names[i]);
  }
  return nullptr;
}

/// The length is that of the function's entry in the unwind tables, which leaf functions have none
/// of: theirs is 0.
inline FunctionSymbol find_function_symbol(const void* address) noexcept {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  const LoadedModule module = find_module(place);
  if (module.start == 0) return {};
  const std::uintptr_t offset = place - module.start;
  FunctionSymbol symbol{.name = exported_name(module.start, offset)};
  if (symbol.name == nullptr) return {};
  DWORD64 base = 0;
  const auto* entry = ::RtlLookupFunctionEntry(place, &base, nullptr);
  if (entry != nullptr && entry->BeginAddress == offset) {
    symbol.bytes = entry->EndAddress - entry->BeginAddress;
  }
  return symbol;
}

}  // namespace alloctap::os
