/// Functions of ntdll.dll as targets of patches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/arch/leaf_function.hpp"
#include "alloctap/hook/inline/patch_target.hpp"
#include "alloctap/os/function_symbol.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/windows/system_library.hpp"

namespace alloctap {

/// `target` with the length of a function that no table tells of because it calls nothing, as far
/// as its code shows.
[[nodiscard]] inline PatchTarget with_length_of_leaf(PatchTarget target) {
  constexpr std::size_t kLongestLeaf = 64;
  std::byte code[kLongestLeaf];
  const std::size_t readable = os::copy_memory(target.start(), code);
  target.bytes = arch::leaf_function_bytes(std::span(code, readable), target.start());
  return target;
}

/// The function of that name, with its length; without an address where this Windows has none.
/// Nothing can let go of its module. System calls are leaves, whose length no table tells. Control
/// plane.
[[nodiscard]] inline PatchTarget find_system_target(const char* symbol) {
  const std::uintptr_t address = os::find_system_function(symbol);
  PatchTarget target{
      .address = reinterpret_cast<const void*>(address), .name = symbol, .modules_stay = true};
  if (address == 0) return target;
  target.bytes = os::find_function_symbol(target.address).bytes;
  return target.bytes == 0 ? with_length_of_leaf(target) : target;
}

}  // namespace alloctap
