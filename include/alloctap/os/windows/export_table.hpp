/// Export table of a loaded library. Reads the mapped image ("PE Format", "The .edata Section"),
/// because the loader's functions may take the loader lock.
#pragma once

#include <cstdint>
#include <string_view>

#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/find_module.hpp"

namespace alloctap::os {

/// Export table of a module that stays loaded. Allocates nothing, takes no lock.
class ExportTable {
 public:
  /// Reads the table of the module at `start`. If `start` is 0, the table is empty.
  explicit ExportTable(std::uintptr_t start) noexcept : start_(start) {
    if (start == 0) return;
    const auto& directory =
        image_headers(start).OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT];
    if (directory.Size == 0) return;
    const auto& table =
        *reinterpret_cast<const IMAGE_EXPORT_DIRECTORY*>(start + directory.VirtualAddress);
    functions_ = reinterpret_cast<const DWORD*>(start + table.AddressOfFunctions);
    names_ = reinterpret_cast<const DWORD*>(start + table.AddressOfNames);
    numbers_ = reinterpret_cast<const WORD*>(start + table.AddressOfNameOrdinals);
    count_ = table.NumberOfNames;
    forwards_ = directory.VirtualAddress;
    forwards_end_ = directory.VirtualAddress + directory.Size;
  }

  /// Returns the first name exported at `offset` from the module's start; nullptr if unnamed.
  [[nodiscard]] const char* name_at(std::uintptr_t offset) const noexcept {
    for (DWORD i = 0; i < count_; ++i) {
      if (functions_[numbers_[i]] == offset) return name(i);
    }
    return nullptr;
  }

  /// Returns the address of the export `wanted`; 0 if undefined or forwarded to another library.
  [[nodiscard]] std::uintptr_t find(std::string_view wanted) const noexcept {
    for (DWORD i = 0; i < count_; ++i) {
      if (wanted != name(i)) continue;
      const DWORD offset = functions_[numbers_[i]];
      return offset >= forwards_ && offset < forwards_end_ ? 0 : start_ + offset;
    }
    return 0;
  }

 private:
  [[nodiscard]] const char* name(DWORD number) const noexcept {
    return reinterpret_cast<const char*>(start_ + names_[number]);
  }

  std::uintptr_t start_;
  const DWORD* functions_ = nullptr;
  const DWORD* names_ = nullptr;
  const WORD* numbers_ = nullptr;
  DWORD count_ = 0;
  DWORD forwards_ = 0;
  DWORD forwards_end_ = 0;
};

}  // namespace alloctap::os
