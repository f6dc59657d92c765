/// Follows jump-only functions to their destination.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "alloctap/arch/entry_patch.hpp"
#include "alloctap/os/memory_map.hpp"

namespace alloctap {

/// Returns the function that a call of `address` reaches through up to eight jump-only functions.
/// Jump-only functions are aliases, and PLT entries that serve as a function's address in a non-PIE
/// executable. Returns `address` if a PLT entry is not bound yet, or if there are more jumps.
///
/// `FunctionPatch` does not follow jumps itself, because the destination has other callers. Control
/// plane.
inline const void* follow_thunks(const void* address) noexcept {
  constexpr int kMaxThunks = 8;
  constexpr std::size_t kThunkBytes = 24;
  auto at = reinterpret_cast<std::uintptr_t>(address);
  for (int i = 0; i < kMaxThunks; ++i) {
    std::byte code[kThunkBytes];
    const std::span read(code, os::copy_memory(at, code));
    if (i > 0 && arch::is_binding_stub(read)) break;
    const auto destination = arch::thunk_destination(read, at);
    if (!destination) return reinterpret_cast<const void*>(at);
    std::uintptr_t next = destination->address;
    if (destination->pointer != 0) {
      std::byte word[sizeof next];
      if (os::copy_memory(destination->pointer, word) != sizeof next) break;
      std::memcpy(&next, word, sizeof next);
    }
    at = next;
  }
  return address;
}

}  // namespace alloctap
