#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>

#include "alloctap/os/module_symbols.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::testing {

/// Of the section that `address` is in. Code for x86-64 has no places that the loader fills in.
inline bool code_is_as_in_file(const void* address) {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t start = os::find_module(place).start;
  if (start == 0) return false;
  const IMAGE_NT_HEADERS& headers = os::image_headers(start);
  const IMAGE_SECTION_HEADER* section = IMAGE_FIRST_SECTION(&headers);
  while (place - start - section->VirtualAddress >= section->Misc.VirtualSize) ++section;
  char path[MAX_PATH];
  ::GetModuleFileNameA(reinterpret_cast<HMODULE>(start), path, sizeof path);
  std::ifstream file(path, std::ios::binary);
  file.seekg(section->PointerToRawData);
  std::string code(section->Misc.VirtualSize, '\0');
  file.read(code.data(), static_cast<std::streamsize>(code.size()));
  const auto* const memory = reinterpret_cast<const void*>(start + section->VirtualAddress);
  return file && std::memcmp(code.data(), memory, code.size()) == 0;
}

}  // namespace alloctap::testing
