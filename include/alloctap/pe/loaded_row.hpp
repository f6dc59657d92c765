/// The row of a module's .pdata that holds at an address.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "alloctap/elf/call_frame.hpp"
#include "alloctap/os/find_module.hpp"
#include "alloctap/pe/mapped_image.hpp"
#include "alloctap/pe/unwind_info.hpp"

namespace alloctap::pe {

/// The entries of the module that is mapped as `image`, in ascending order.
inline std::span<const FunctionEntry> find_functions(std::span<const std::byte> image) noexcept {
  constexpr std::size_t kExceptionDirectory = 24 + 112 + 3 * 8;
  const auto headers = find_headers(image);
  if (!headers) return {};
  const auto place = read_number<std::uint32_t>(image, *headers + kExceptionDirectory);
  const auto bytes = read_number<std::uint32_t>(image, *headers + kExceptionDirectory + 4);
  const bool inside = place && bytes && *place % alignof(FunctionEntry) == 0 &&
                      *place <= image.size() && *bytes <= image.size() - *place;
  if (!inside) return {};
  return {reinterpret_cast<const FunctionEntry*>(image.data() + *place),
          *bytes / sizeof(FunctionEntry)};
}

/// The entry of the function, or the part of one, that holds `pc`, an offset in the module.
inline const FunctionEntry* find_function(std::span<const FunctionEntry> functions,
                                          std::uint32_t pc) noexcept {
  const auto above = std::upper_bound(
      functions.begin(), functions.end(), pc,
      [](std::uint32_t place, const FunctionEntry& entry) { return place < entry.begin; });
  if (above == functions.begin() || pc >= (above - 1)->end) return nullptr;
  return &*(above - 1);
}

/// RtlLookupFunctionEntry finds the same, and on some systems takes the loader's lock; under Wine,
/// a walk by it and RtlVirtualUnwind takes three to five times what one by such rows does
/// (bench/README.md). Code that registers its functions itself (RtlAddFunctionTable) is not found.
/// Functions without an entry call nobody, so nobody is called from there.
[[nodiscard]] inline bool find_loaded_row(std::uintptr_t address, elf::CallFrameRow& row) noexcept {
  const os::LoadedModule module = os::find_module(address);
  if (module.start == 0) return false;
  const std::span image(reinterpret_cast<const std::byte*>(module.start),
                        module.end - module.start);
  const auto pc = static_cast<std::uint32_t>(address - module.start);
  const FunctionEntry* const function = find_function(find_functions(image), pc);
  if (function == nullptr || !PrologueReader(image).read(*function, pc, row)) return false;
  row.begin = module.start + function->begin;
  row.end = module.start + function->end;
  return true;
}

}  // namespace alloctap::pe
