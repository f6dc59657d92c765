/// How close together an allocator's blocks may begin.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/hook/allocation_functions.hpp"
#include "alloctap/hook/c_functions.hpp"
#include "alloctap/hook/fallback_operators.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/find_module.hpp"
#include "alloctap/os/next_symbol.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// The least distance in bytes of two blocks that live at one time and come from `Originals`, as
/// far as it is known: 32 where all of them are the C library's, or operators that call it, and its
/// smallest block has room for more than 16 bytes, as glibc's has; else 16. Blocks begin at
/// multiples of 16, so one of more bytes leaves room for no other within 32. Allocates a block.
template <class Originals>
class BlockSpacing {
 public:
  [[nodiscard]] static std::size_t find() noexcept {
    constexpr std::size_t kLeast = 16;
    return all_of_c_library() && smallest_block() > kLeast ? 2 * kLeast : kLeast;
  }

 private:
  template <class Function>
  static auto* original() noexcept {
    return Originals::template get_outermost<Function>();
  }

  static std::size_t smallest_block() noexcept {
    void* const block = original<functions::Malloc>()(0);
    if (block == nullptr) return 0;
    const std::size_t bytes = original<functions::MallocUsableSize>()(block);
    original<functions::Free>()(block);
    return bytes;
  }

  static bool all_of_c_library() noexcept {
    // A look-up that fails keeps the text of its error in memory.
    const UseInternalArena own;
    // An allocator that replaces the operators does not bring the rest of the C++ library.
    const Libraries libraries{.c = module_of(os::next_symbol("mmap")),
                              .cxx = module_of(os::next_symbol("_ZSt15get_new_handlerv"))};
    return all_are_of(libraries, AllocationFunctions{});
  }

  struct Libraries {
    std::uintptr_t c;
    /// 0 where there is none.
    std::uintptr_t cxx;
  };

  template <class... Functions>
  static bool all_are_of(const Libraries& libraries, FunctionList<Functions...>) noexcept {
    return (is_of(libraries, reinterpret_cast<const void*>(original<Functions>()),
                  fallback<Functions>()) &&
            ...);
  }

  /// `fallback`: nullptr for what is no operator.
  ALLOCTAP_NOINLINE static bool is_of(const Libraries& libraries, const void* function,
                                      const void* fallback) noexcept {
    const std::uintptr_t module = module_of(function);
    if (module == libraries.c) return module != 0;
    return fallback != nullptr && (function == fallback || module == libraries.cxx);
  }

  template <class Function>
  static const void* fallback() noexcept {
    if constexpr (kIsOperator<Function>) {
      return reinterpret_cast<const void*>(&FallbackOperator<Function, Originals>::call);
    } else {
      return nullptr;
    }
  }

  template <class Function>
  static constexpr bool kIsOperator =
      requires { FallbackOperator<Function, Originals>::call; } && Function::name[0] == '_';

  /// 0 of nullptr, and of no code of a module.
  static std::uintptr_t module_of(const void* code) noexcept {
    return code == nullptr ? 0 : os::find_module(reinterpret_cast<std::uintptr_t>(code)).start;
  }
};

}  // namespace alloctap
