/// Provider for the malloc hooks of the sanitizer runtimes.
#pragma once

#include <cstddef>
#include <string_view>

#include "alloctap/hook/malloc_hooks/hook_provider.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/status.hpp"

extern "C" {
ALLOCTAP_WEAK int __sanitizer_install_malloc_and_free_hooks(
    void (*malloc_hook)(const volatile void*, std::size_t),
    void (*free_hook)(const volatile void*));
ALLOCTAP_WEAK std::size_t __sanitizer_get_allocated_size(const volatile void* block);
ALLOCTAP_WEAK void __tsan_init();
}

namespace alloctap {

struct SanitizerRuntime {
  using AllocationHook = void(const volatile void*, std::size_t);
  using FreeHook = void(const volatile void*);

  static bool present() noexcept { return &__sanitizer_install_malloc_and_free_hooks != nullptr; }
  /// Installs a pair of hooks. Returns the pair's number, or 0 if the runtime has no room left.
  static int install(AllocationHook* allocated, FreeHook* freeing) noexcept {
    return __sanitizer_install_malloc_and_free_hooks(allocated, freeing);
  }
  /// ThreadSanitizer calls no hooks in a child forked from a process with several threads.
  static bool is_silent_after_fork() noexcept { return &__tsan_init != nullptr; }
  /// Returns the requested size in bytes, or 0 if the runtime cannot report it.
  static std::size_t size_of(const volatile void* block) noexcept {
    return &__sanitizer_get_allocated_size == nullptr ? 0 : __sanitizer_get_allocated_size(block);
  }
};

/// Provider for AddressSanitizer, LeakSanitizer, MemorySanitizer and ThreadSanitizer, of gcc and
/// clang (sanitizer/allocator_interface.h). A runtime has room for five pairs of hooks and cannot
/// remove a pair. The pair is therefore installed once per process; events are dropped while no
/// sink is connected. A runtime's installation of hooks is not thread-safe: start the first tracker
/// before other threads install hooks.
template <class Runtime = SanitizerRuntime>
class SanitizerHooks {
 public:
  static constexpr std::string_view name = "sanitizer";

  static Status install() {
    if (!Runtime::present()) {
      return Status::not_found(
          "no __sanitizer_install_malloc_and_free_hooks; build the program with "
          "-fsanitize=address, leak, memory or thread");
    }
    if (!installed_) installed_ = Runtime::install(&on_allocated, &on_freeing) != 0;
    if (installed_) return Status();
    return Status::resource_exhausted(
        "__sanitizer_install_malloc_and_free_hooks has no place left: five other pairs of hooks "
        "are installed, and a runtime never gives one back; install this tracker earlier");
  }

  static void uninstall() noexcept {}

  static std::string_view also_unseen() noexcept {
    return Runtime::is_silent_after_fork() ? "children that were forked while there were threads"
                                           : "";
  }

 private:
  ALLOCTAP_NOINLINE static void on_allocated(const volatile void* block, std::size_t size) {
    ReportedCall::allocated(ALLOCTAP_CALL_ORIGIN(), block, size);
  }
  ALLOCTAP_NOINLINE static void on_freeing(const volatile void* block) {
    if (!HookFeed::connected() || block == nullptr) return;
    ReportedCall::freeing(ALLOCTAP_CALL_ORIGIN(), block, Runtime::size_of(block));
  }

  static inline constinit bool installed_ = false;
};

static_assert(HookProvider<SanitizerHooks<>>);

}  // namespace alloctap
