/// Finds functions of ntdll.dll to patch, and patches groups of Windows library functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "alloctap/arch/leaf_function.hpp"
#include "alloctap/hook/inline/function_patch.hpp"
#include "alloctap/hook/inline/patch_target.hpp"
#include "alloctap/hook/module_selection.hpp"
#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/os/windows/module_symbols.hpp"

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

/// Patches of several Windows library functions, enabled together or not at all. `clear` or the
/// destructor restores the functions. If a function cannot be patched, the caller must call
/// `clear`. Control plane; for one thread at a time.
class WindowsPatchGroup {
 public:
  /// Returns the function with its length, or length 0 if it cannot be patched. Requires a module
  /// that stays loaded. If no table has the length, and the function is not a leaf, it is a stub in
  /// Wine that never returns.
  static PatchTarget target_at(std::uintptr_t address, const char* name) {
    PatchTarget target{
        .address = reinterpret_cast<const void*>(address), .name = name, .modules_stay = true};
    if (address == 0) return target;
    target.bytes = os::find_function_symbol(target.address).bytes;
    return target.bytes == 0 ? with_length_of_leaf(target) : target;
  }

  /// Prepares a patch of `target` that leads to `handler`. Returns the address of the original, or
  /// 0 if `target` cannot be patched. `regions` must have been read after the module was loaded.
  template <class Handler>
  [[nodiscard]] std::uintptr_t add(const PatchTarget& target, Handler* handler,
                                   const MemoryRegions& regions) {
    const auto* const code = reinterpret_cast<const void*>(handler);
    auto patch = FunctionPatch::prepare(target, code, regions);
    if (!patch.ok()) return 0;
    const auto original = reinterpret_cast<std::uintptr_t>(patch->original(handler));
    patches_.push_back(*std::move(patch));
    return original;
  }

  /// Enables all patches. Returns false if a patch cannot be enabled; then call `clear`.
  [[nodiscard]] bool enable() {
    for (FunctionPatch& patch : patches_) {
      if (!patch.enable().ok()) return false;
    }
    return true;
  }

  void clear() noexcept { patches_.clear(); }

 private:
  std::vector<FunctionPatch> patches_;
};

}  // namespace alloctap
