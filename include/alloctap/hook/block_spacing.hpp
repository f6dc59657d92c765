/// Minimum distance between the starts of an allocator's blocks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/hook/allocation_functions.hpp"
#include "alloctap/hook/interposed_originals.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/loaded_images.hpp"
#include "alloctap/os/module_symbols.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Minimum distance in bytes between the starts of two live blocks of `Originals`: 32 or 16. Blocks
/// are 16-aligned, so a block with more than 16 usable bytes occupies at least 32. The result is 32
/// if malloc(0) gives more than 16 usable bytes (24 in glibc), and every original is a C library
/// function or an operator that calls one. `find` allocates and frees a block.
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
    // If a look-up fails, dlerror allocates its text; this guard makes it use the internal arena.
    const UseInternalArena own;
    // Locates the C++ library by a function that, unlike operators, allocators do not replace.
    const Libraries libraries{.c = module_of(os::next_symbol("mmap")),
                              .cxx = module_of(os::next_symbol("_ZSt15get_new_handlerv"))};
    return all_are_of(libraries, AllocationFunctions{});
  }

  struct Libraries {
    std::uintptr_t c;
    /// Start of the C++ library; 0 if it is not loaded.
    std::uintptr_t cxx;
  };

  template <class... Functions>
  static bool all_are_of(const Libraries& libraries, FunctionList<Functions...>) noexcept {
    return (is_of(libraries, reinterpret_cast<const void*>(original<Functions>()),
                  fallback<Functions>()) &&
            ...);
  }

  /// Returns true if the C library defines `function`. For an operator, also returns true if
  /// `function` is `fallback` or the C++ library defines it. For other functions, `fallback` is
  /// nullptr.
  ALLOCTAP_NOINLINE static bool is_of(const Libraries& libraries, const void* function,
                                      const void* fallback) noexcept {
    const std::uintptr_t module = module_of(function);
    if (module == libraries.c) return module != 0;
    return fallback != nullptr && (function == fallback || module == libraries.cxx);
  }

  template <class Function>
  static const void* fallback() noexcept {
    if constexpr (kHasFallback<Function>) {
      return reinterpret_cast<const void*>(&FallbackOperator<Function, Originals>::call);
    } else {
      return nullptr;
    }
  }

  template <class Function>
  static constexpr bool kHasFallback =
      requires { FallbackOperator<Function, Originals>::call; } && Function::name[0] == '_';

  /// Returns the start of the module that contains `code`, or 0 if no module does.
  static std::uintptr_t module_of(const void* code) noexcept {
    return code == nullptr ? 0 : os::find_module(reinterpret_cast<std::uintptr_t>(code)).start;
  }
};

}  // namespace alloctap
