/// Functions of ntdll.dll as targets of patches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/arch/leaf_function.hpp"
#include "alloctap/hook/function_patch/patch_target.hpp"
#include "alloctap/os/function_symbol.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/windows/system_library.hpp"

namespace alloctap {

/// The function of that name, with its length; without an address where this Windows has none.
/// Nothing can let go of its module. System calls are leaves, whose length no table tells. Control
/// plane.
[[nodiscard]] inline PatchTarget find_system_target(const char* symbol) {
  constexpr std::size_t kLongestLeaf = 64;
  const std::uintptr_t address = os::find_system_function(symbol);
  PatchTarget target{
      .address = reinterpret_cast<const void*>(address), .name = symbol, .modules_stay = true};
  if (address == 0) return target;
  target.bytes = os::find_function_symbol(target.address).bytes;
  if (target.bytes != 0) return target;
  std::byte code[kLongestLeaf];
  const std::size_t readable = os::copy_memory(address, code);
  target.bytes = arch::leaf_function_bytes(std::span(code, readable), address);
  return target;
}

}  // namespace alloctap
