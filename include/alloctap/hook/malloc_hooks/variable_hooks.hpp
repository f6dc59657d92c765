/// Hooks for C libraries whose malloc calls functions in hook variables.
#pragma once

#include <atomic>
#include <cstddef>
#include <type_traits>

#include "alloctap/hook/call_wrapper.hpp"
#include "alloctap/hook/malloc_hooks/hook_feed.hpp"
#include "alloctap/hook/malloc_hooks/hook_provider.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/malloc_hook_variables.hpp"

namespace alloctap {

/// Real allocation functions, which must not call the hooks.
struct VariableHookOriginals {
  void* (*malloc)(std::size_t) = nullptr;
  void* (*realloc)(void*, std::size_t) = nullptr;
  void (*free)(void*) = nullptr;
  void* (*memalign)(std::size_t alignment, std::size_t size) = nullptr;

  [[nodiscard]] bool complete() const noexcept {
    return malloc != nullptr && realloc != nullptr && free != nullptr && memalign != nullptr;
  }
};

/// Hooks that report to `HookFeed` and call the originals. `Tag` is any type, and each `Tag` has
/// its own variables and originals. `set` and `restore` run in the control plane, one at a time.
/// Concurrent calls see old or new hooks.
template <class Tag>
class VariableHooks {
 public:
  /// Stores the hooks in the variables. Requires that `variables` and `originals` are complete.
  static void set(const os::MallocHookVariables& variables,
                  const VariableHookOriginals& originals) noexcept {
    if (called_by_another_) return;
    originals_ = originals;
    previous_ = {.malloc = load(variables.malloc),
                 .realloc = load(variables.realloc),
                 .free = load(variables.free),
                 .memalign = load(variables.memalign)};
    variables_ = variables;
    store(variables.free, &on_free);
    store(variables.realloc, &on_realloc);
    store(variables.memalign, &on_memalign);
    store(variables.malloc, &on_malloc);
  }

  /// Restores the previous values, but skips a variable that another tool changed. The tool's hook
  /// may still call this hook, which then passes calls through. After such a skip, `set` does
  /// nothing, because otherwise the two hooks would call each other.
  static void restore() noexcept {
    if (!variables_.complete()) return;
    called_by_another_ = false;
    put_back(variables_.malloc, &on_malloc, previous_.malloc);
    put_back(variables_.memalign, &on_memalign, previous_.memalign);
    put_back(variables_.realloc, &on_realloc, previous_.realloc);
    put_back(variables_.free, &on_free, previous_.free);
  }

  /// Values before `set`; nullptr if unset.
  struct Previous {
    os::MallocHook* malloc = nullptr;
    os::ReallocHook* realloc = nullptr;
    os::FreeHook* free = nullptr;
    os::MemalignHook* memalign = nullptr;
  };
  [[nodiscard]] static const Previous& previous() noexcept { return previous_; }

  template <class Hook>
  [[nodiscard]] static Hook* load(Hook** variable) noexcept {
    return std::atomic_ref(*variable).load(std::memory_order_acquire);
  }

 private:
  /// Real functions, in the form that `CallWrapper` requires.
  struct Originals {
    static bool recording() noexcept { return HookFeed::connected(); }
    template <class Function>
    static typename Function::Signature* get() noexcept {
      if constexpr (std::is_same_v<Function, functions::Malloc>) {
        return originals_.malloc;
      } else if constexpr (std::is_same_v<Function, functions::Realloc>) {
        return originals_.realloc;
      } else if constexpr (std::is_same_v<Function, functions::Free>) {
        return originals_.free;
      } else {
        static_assert(std::is_same_v<Function, functions::Memalign>);
        return originals_.memalign;
      }
    }
  };
  using Call = CallWrapper<Originals, HookFeed>;

  ALLOCTAP_ALWAYS_INLINE static CallOrigin outside(CallOrigin origin) noexcept {
    origin.allocator = &hooked_allocator_frames;
    return origin;
  }

  ALLOCTAP_NOINLINE static void* on_malloc(std::size_t size, const void*) {
    return Call::template allocate<functions::Malloc>(outside(ALLOCTAP_CALL_ORIGIN()), size);
  }
  ALLOCTAP_NOINLINE static void* on_realloc(void* old, std::size_t size, const void*) {
    return Call::template reallocate<functions::Realloc>(outside(ALLOCTAP_CALL_ORIGIN()), old,
                                                         size);
  }
  ALLOCTAP_NOINLINE static void on_free(void* block, const void*) {
    Call::template deallocate<functions::Free>(outside(ALLOCTAP_CALL_ORIGIN()), block);
  }
  ALLOCTAP_NOINLINE static void* on_memalign(std::size_t alignment, std::size_t size, const void*) {
    return Call::template allocate<functions::Memalign>(outside(ALLOCTAP_CALL_ORIGIN()), alignment,
                                                        size);
  }

  template <class Hook>
  static void store(Hook** variable, Hook* hook) noexcept {
    std::atomic_ref(*variable).store(hook, std::memory_order_release);
  }

  template <class Hook>
  static void put_back(Hook** variable, Hook* ours, Hook* before) noexcept {
    if (!std::atomic_ref(*variable).compare_exchange_strong(ours, before)) {
      called_by_another_ = true;
    }
  }

  static inline constinit VariableHookOriginals originals_;
  static inline constinit os::MallocHookVariables variables_;
  static inline constinit Previous previous_;
  static inline constinit bool called_by_another_ = false;
};

}  // namespace alloctap
