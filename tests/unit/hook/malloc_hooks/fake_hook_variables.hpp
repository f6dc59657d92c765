/// A C library whose malloc can be hooked, made of static blocks.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>

#include "alloctap/hook/malloc_hooks/variable_hooks.hpp"

namespace alloctap::testing {

inline int old_place;
inline int new_place;

/// Its hook variables, and functions that note how they were called.
struct FakeHookVariables {
  static os::MallocHookVariables all() noexcept {
    return {.malloc = &malloc_hook,
            .realloc = &realloc_hook,
            .free = &free_hook,
            .memalign = &memalign_hook};
  }

  static void reset(bool in_use) {
    malloc_hook = in_use ? &hooked_malloc : nullptr;
    realloc_hook = in_use ? &hooked_realloc : nullptr;
    free_hook = in_use ? &hooked_free : nullptr;
    memalign_hook = in_use ? &hooked_memalign : nullptr;
    result = &new_place;
    calls = 0;
  }

  [[nodiscard]] static bool empty() noexcept {
    return malloc_hook == nullptr && realloc_hook == nullptr && free_hook == nullptr &&
           memalign_hook == nullptr;
  }

  /// Calls each hook once, as a program's calls would.
  static void call_all() {
    CHECK(malloc_hook(100, nullptr) == result);
    CHECK(memalign_hook(64, 300, nullptr) == result);
    CHECK(realloc_hook(&old_place, 200, nullptr) == result);
    free_hook(&old_place, nullptr);
  }

  static void* plain_malloc(std::size_t) { return give(); }
  static void* plain_realloc(void*, std::size_t) { return give(); }
  static void plain_free(void*) { ++calls; }
  static void* plain_memalign(std::size_t, std::size_t) { return give(); }

  static void* hooked_malloc(std::size_t, const void*) { return give(); }
  static void* hooked_realloc(void*, std::size_t, const void*) { return give(); }
  static void hooked_free(void*, const void*) { ++calls; }
  static void* hooked_memalign(std::size_t, std::size_t, const void*) { return give(); }

  static void* give() {
    ++calls;
    return result;
  }

  static inline os::MallocHook* malloc_hook = nullptr;
  static inline os::ReallocHook* realloc_hook = nullptr;
  static inline os::FreeHook* free_hook = nullptr;
  static inline os::MemalignHook* memalign_hook = nullptr;
  static inline void* result = nullptr;
  static inline int calls = 0;
};

}  // namespace alloctap::testing
