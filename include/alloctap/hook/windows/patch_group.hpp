/// Functions of Windows' libraries that are patched together.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "alloctap/hook/inline/function_patch.hpp"
#include "alloctap/hook/memory_regions.hpp"
#include "alloctap/hook/windows/system_function.hpp"
#include "alloctap/os/function_symbol.hpp"

namespace alloctap {

/// All of them or none, by whom they are added. Those that are patched are restored where the group
/// is cleared or ends. Control plane; used by one thread at a time.
class WindowsPatchGroup {
 public:
  /// The function at `address`, in a module that stays, with its length; that is 0 where there is
  /// nothing to patch. What has no length in any table neither is a leaf nor can be unwound: it is
  /// one of Wine's that say that they are not there yet, and never return.
  static PatchTarget target_at(std::uintptr_t address, const char* name) {
    PatchTarget target{
        .address = reinterpret_cast<const void*>(address), .name = name, .modules_stay = true};
    if (address == 0) return target;
    target.bytes = os::find_function_symbol(target.address).bytes;
    return target.bytes == 0 ? with_length_of_leaf(target) : target;
  }

  /// Calls of `target` are to reach `handler`. The address that does what the function did before;
  /// 0 where it cannot be patched. `regions` was read when its module was loaded.
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

  /// False where one of them cannot be: then the group is to be cleared.
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
