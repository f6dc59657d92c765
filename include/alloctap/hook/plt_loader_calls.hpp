/// The functions of the loader that bring and take away code, hooked in slots.
///
/// dlopen and dlsym look at who calls them: for RPATH, $ORIGIN, namespaces, RTLD_NEXT. They are
/// entered by a jump, so they see the program, and nothing of this runs behind dlopen. So the slots
/// of what it opened are hooked when the program next asks for a symbol, or opens or closes a
/// module, which programs do with what they have opened before they call it. What a module
/// allocates in its constructors is not seen. Modules in namespaces of their own (dlmopen) are not
/// seen at all: the loader does not list them here.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/arch/forwarding_entries.hpp"
#include "alloctap/guard/reentrancy_guard.hpp"
#include "alloctap/hook/plt_state.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/loaded_images.hpp"

namespace alloctap {

/// What they do beside their calls of the originals.
struct PltLoaderCallbacks {
  using Callback = void (*)() noexcept;
  Callback refresh = nullptr;
  Callback unloading = nullptr;
  Callback unloaded = nullptr;
};

/// Handlers of dlopen, dlsym and dlclose. Calls of the tracker itself pass through.
class PltLoaderCalls {
 public:
  static void set(const PltLoaderCallbacks& callbacks) noexcept { callbacks_ = callbacks; }

  /// False where there is no room.
  [[nodiscard]] static bool add_to(PltTargets& targets) noexcept {
    return targets.add(describe<open_>("dlopen", address_of(&alloctap_forward_open))) &&
           targets.add(describe<symbol_>("dlsym", address_of(&alloctap_forward_symbol))) &&
           targets.add(describe<close_>("dlclose", address_of(&close)));
  }

  static std::uintptr_t before_open() noexcept {
    if (is_programs()) {
      refresh_if_opened();
      opened_ = true;
    }
    return open_.load(std::memory_order_acquire);
  }

  static std::uintptr_t before_symbol() noexcept {
    if (is_programs()) refresh_if_opened();
    return symbol_.load(std::memory_order_acquire);
  }

 private:
  using Original = std::atomic<std::uintptr_t>;

  static bool is_programs() noexcept {
    const bool own = this_thread_slot.depth.load(std::memory_order_relaxed) > 0;
    return !own && PltState::active.load(std::memory_order_acquire);
  }

  /// Other threads' modules may be listed, and not be ready; so each thread looks after its own,
  /// and after whatever changed.
  static void refresh_if_opened() noexcept {
    if (!opened_ && os::loader_counts() == PltState::last_counts()) return;
    opened_ = false;
    callbacks_.refresh();
  }

  /// As dlclose(3). Destructors of the module run inside, and what they free is the program's: so
  /// no guard is held.
  ALLOCTAP_NOINLINE static int close(void* handle) {
    auto* const original = reinterpret_cast<int (*)(void*)>(close_.load(std::memory_order_acquire));
    if (!is_programs()) return original(handle);
    refresh_if_opened();
    callbacks_.unloading();
    const int error = original(handle);
    callbacks_.unloaded();
    return error;
  }

  template <class Function>
  static std::uintptr_t address_of(Function* function) noexcept {
    return reinterpret_cast<std::uintptr_t>(function);
  }

  template <Original& kOriginal>
  static PltTarget describe(const char* name, std::uintptr_t handler) noexcept {
    return {.name = name, .handler = handler, .group = kLoaderGroup, .publish = &set<kOriginal>};
  }

  template <Original& kOriginal>
  static void set(std::uintptr_t original) noexcept {
    kOriginal.store(original, std::memory_order_release);
  }

  static inline constinit PltLoaderCallbacks callbacks_;
  static inline constinit Original open_{0};
  static inline constinit Original symbol_{0};
  static inline constinit Original close_{0};
  /// Whether this thread has opened modules since it last looked at their slots.
  ALLOCTAP_INITIAL_EXEC static inline constinit thread_local bool opened_ = false;
};

extern "C" {
__attribute__((used, visibility("hidden"))) inline std::uintptr_t
alloctap_plt_before_open() noexcept {
  return PltLoaderCalls::before_open();
}
__attribute__((used, visibility("hidden"))) inline std::uintptr_t
alloctap_plt_before_symbol() noexcept {
  return PltLoaderCalls::before_symbol();
}
}

}  // namespace alloctap
