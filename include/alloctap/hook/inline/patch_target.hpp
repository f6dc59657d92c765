/// A function to patch, its name in error messages, and the function behind jump-only functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "alloctap/arch/entry_patch.hpp"
#include "alloctap/hook/module_selection.hpp"
#include "alloctap/message_text.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Function to patch. `bytes` is the function's length; 0 means the length of its exported symbol.
/// `name` is used in messages. `modules_stay` is true if the modules of function and replacement
/// are never unloaded, for example because they are loaded at program start.
struct PatchTarget {
  const void* address = nullptr;
  std::size_t bytes = 0;
  std::string name = {};
  bool modules_stay = false;

  [[nodiscard]] std::uintptr_t start() const noexcept {
    return reinterpret_cast<std::uintptr_t>(address);
  }

  /// Returns a copy, with length and name from the symbol table if they are missing. Control plane.
  [[nodiscard]] PatchTarget described() const {
    // Skips the search, which visits every symbol of the module.
    if (bytes != 0 && !name.empty()) return *this;
    const os::FunctionSymbol symbol = os::find_function_symbol(address);
    PatchTarget target = *this;
    if (target.bytes == 0) target.bytes = symbol.bytes;
    if (target.name.empty()) target.name = symbol.name == nullptr ? "a function" : symbol.name;
    return target;
  }

  /// Returns text such as "FunctionPatch: malloc at 0x7f...".
  [[nodiscard]] std::string in_words() const {
    return join_text("FunctionPatch: ", name, " at 0x", hex_text(start()));
  }

  /// Returns the code and up to 16 bytes of padding after it. Requires that the code is mapped and
  /// readable.
  [[nodiscard]] arch::FunctionCode code(const MemoryRegions& regions) const noexcept {
    constexpr std::size_t kBehind = 16;
    const auto* first = static_cast<const std::byte*>(address);
    const std::size_t behind = regions.is_readable(start() + bytes, kBehind) ? kBehind : 0;
    return {.address = start(), .bytes = {first, bytes}, .behind = {first + bytes, behind}};
  }
};

/// Returns "bytes " and the function's first 16 bytes in hexadecimal; "no bytes" if unreadable.
inline std::string first_bytes_of(const PatchTarget& target) {
  std::byte bytes[16];
  const std::size_t count = os::copy_memory(target.start(), bytes);
  std::string text = count == 0 ? "no bytes" : "bytes ";
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<unsigned>(bytes[i]);
    append_text(text, value < 0x10 ? "0" : "", hex_text(value));
  }
  return text;
}

/// Returns Unimplemented; the message has the reason, the offset and the bytes.
inline Status refuse_patch(const PatchTarget& target, arch::PatchRefusal refusal,
                           std::uintptr_t at) {
  const std::string text = join_text(target.in_words(), ", ", target.bytes, " bytes long, ",
                                     first_bytes_of(target), ": cannot be patched, because ",
                                     arch::describe(refusal), " (at +", at - target.start(), ")");
  return Status::unimplemented(text);
}

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
