/// Finds functions of ntdll.dll to patch.
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

/// Returns `target` with the length of a leaf function. Finds the length in the code, because
/// unwind tables omit leaf functions.
[[nodiscard]] inline PatchTarget with_length_of_leaf(PatchTarget target) {
  constexpr std::size_t kLongestLeaf = 64;
  std::byte code[kLongestLeaf];
  const std::size_t readable = os::copy_memory(target.start(), code);
  target.bytes = arch::leaf_function_bytes(std::span(code, readable), target.start());
  return target;
}

/// Returns the function with its length, or a null address if this Windows lacks the function.
/// ntdll.dll, which has the function, is never unloaded. Control plane.
[[nodiscard]] inline PatchTarget find_system_target(const char* symbol) {
  const std::uintptr_t address = os::find_system_function(symbol);
  PatchTarget target{
      .address = reinterpret_cast<const void*>(address), .name = symbol, .modules_stay = true};
  if (address == 0) return target;
  target.bytes = os::find_function_symbol(target.address).bytes;
  return target.bytes == 0 ? with_length_of_leaf(target) : target;
}

}  // namespace alloctap
