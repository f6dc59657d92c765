/// From the address of a function to the function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "alloctap/arch/entry_patch.hpp"
#include "alloctap/os/memory_map.hpp"

namespace alloctap {

/// Where a call of `address` ends up, through any number of jumps that are all that a function
/// consists of: entries of a procedure linkage table, which stand for functions in programs that
/// are not position-independent, and aliases. `address` itself where one of these is not bound yet,
/// or leads nowhere.
///
/// `FunctionPatch` does not do that by itself: patching a function that only calls another one is
/// not patching that one, which has callers of its own. Control plane.
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
