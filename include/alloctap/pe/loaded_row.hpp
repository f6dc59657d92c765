/// Finds the unwind row at a code address, from a module's .pdata.
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

/// Returns the .pdata entries of the module mapped as `image`, in ascending order.
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

/// Returns the entry that covers `pc`, an offset in the module; nullptr if not found. An entry is
/// for a function or an outlined part of a function.
inline const FunctionEntry* find_function(std::span<const FunctionEntry> functions,
                                          std::uint32_t pc) noexcept {
  const auto above = std::upper_bound(
      functions.begin(), functions.end(), pc,
      [](std::uint32_t place, const FunctionEntry& entry) { return place < entry.begin; });
  if (above == functions.begin() || pc >= (above - 1)->end) return nullptr;
  return &*(above - 1);
}

/// Writes the unwind row at `address` to `row`; returns false if not found. Does not use
/// RtlLookupFunctionEntry, because on some systems that function takes the loader's lock. Under
/// Wine, a walk by RtlLookupFunctionEntry and RtlVirtualUnwind takes three to five times as long
/// (bench/README.md). Does not find code registered with RtlAddFunctionTable. A function without a
/// .pdata entry makes no calls, so no return address is in such a function.
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
