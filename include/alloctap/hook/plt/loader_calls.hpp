/// The functions of the loader that bring and take away code, hooked in slots.
///
/// dlopen, dlmopen and dlsym look at who calls them: for RPATH, $ORIGIN, namespaces, RTLD_NEXT.
/// They are entered by a jump, so they see the program. What opens modules is made to return
/// through a gadget in its caller's module: the loader sees that module, and the slots of what it
/// opened are hooked before the caller goes on. Where there is no gadget, as in code without unwind
/// tables, or where the processor checks returns, nothing of this runs behind dlopen: then they are
/// hooked when the program next asks for a symbol, or opens or closes a module.
///
/// What a module allocates in its constructors is not seen. Modules in namespaces of their own
/// (dlmopen) are not seen at all: the loader does not list them here.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/arch/forwarding_entries.hpp"
#include "alloctap/arch/shadow_stack.hpp"
#include "alloctap/elf/find_return_gadget.hpp"
#include "alloctap/hook/internal_frames.hpp"
#include "alloctap/hook/plt/state.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/os/loaded_images.hpp"
#include "alloctap/os/next_symbol.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// What they do beside their calls of the originals.
struct PltLoaderCallbacks {
  using Callback = void (*)() noexcept;
  /// False where it could not be done now.
  bool (*refresh)() noexcept = nullptr;
  Callback unloading = nullptr;
  Callback unloaded = nullptr;
};

/// What happens around a call of dlopen(3) where that is interposed and slots are not hooked.
struct PltInterposedOpen {
  /// `open` is the original, `caller` the address that the call returns to.
  arch::ForwardedOpen (*begin)(std::uintptr_t open, std::uintptr_t caller, int flags) noexcept;
  /// Only after a call that `begin` found a gadget for.
  void (*end)(const void* handle) noexcept;
};

/// Handlers of dlopen, dlmopen, dlsym and dlclose. Calls of the tracker itself pass through.
class PltLoaderCalls {
 public:
  /// `callbacks` live as long as the process: threads may be inside while the next ones are set.
  static void set(const PltLoaderCallbacks& callbacks) noexcept {
    callbacks_.store(&callbacks, std::memory_order_release);
  }

  /// Whether the dlclose behind the slots tells of what is closed by itself.
  static void set_other_notices(bool told) noexcept {
    has_other_notices_.store(told, std::memory_order_relaxed);
  }

  /// False where there is no room.
  [[nodiscard]] static bool add_to(PltTargets& targets) noexcept {
    return targets.add(describe<open_>("dlopen", address_of(&alloctap_forward_open))) &&
           targets.add(describe<open_in_>("dlmopen", address_of(&alloctap_forward_open_in))) &&
           targets.add(describe<symbol_>("dlsym", address_of(&alloctap_forward_symbol))) &&
           targets.add(describe<close_>("dlclose", address_of(&close)));
  }

  /// `interposed` lives as long as the process. Before slots are hooked, if they are.
  static void set_interposed_open(const PltInterposedOpen& interposed) noexcept {
    interposed_open_.store(&interposed, std::memory_order_release);
  }

  /// `caller` is the address that a call of dlopen returns to, `flags` its second argument.
  static arch::ForwardedOpen before_open(std::uintptr_t caller, int flags) noexcept {
    const PltInterposedOpen* const interposed = interposed_open_.load(std::memory_order_acquire);
    if (interposed != nullptr) return interposed->begin(interposed_original(), caller, flags);
    return before(open_, caller);
  }

  /// dlmopen(3).
  static arch::ForwardedOpen before_open_in(std::uintptr_t caller) noexcept {
    return before(open_in_, caller);
  }

  /// What failed has opened nothing, and dlerror(3) is to tell of it.
  static void after_open(const void* handle) noexcept {
    const PltInterposedOpen* const interposed = interposed_open_.load(std::memory_order_acquire);
    if (interposed != nullptr) return interposed->end(handle);
    if (handle != nullptr && is_programs()) refresh_if_opened();
  }

  static std::uintptr_t before_symbol() noexcept {
    if (is_programs()) refresh_if_opened();
    return symbol_.load(std::memory_order_acquire);
  }

 private:
  using Original = std::atomic<std::uintptr_t>;

  static bool is_programs() noexcept {
    const bool own = this_thread_slot().depth.load(std::memory_order_relaxed) > 0;
    return !own && PltState::active.load(std::memory_order_acquire);
  }

  static std::uintptr_t interposed_original() noexcept {
    if (open_.load(std::memory_order_acquire) == 0) {
      const UseInternalArena own;
      set<open_>(reinterpret_cast<std::uintptr_t>(os::next_symbol("dlopen")));
    }
    return open_.load(std::memory_order_acquire);
  }

  static arch::ForwardedOpen before(const Original& original, std::uintptr_t caller) noexcept {
    arch::ForwardedOpen open{original.load(std::memory_order_acquire), 0};
    if (!is_programs()) return open;
    refresh_if_opened();
    opened_ = true;
    const os::ErrnoGuard error;
    if (!arch::has_shadow_stack()) open.gadget = elf::find_return_gadget(caller);
    if (open.gadget == 0) PltState::opened_blindly.fetch_add(1, std::memory_order_relaxed);
    return open;
  }

  /// Other threads' modules may be listed, and not be ready; so each thread looks after its own,
  /// and after whatever changed.
  static void refresh_if_opened() noexcept {
    if (!opened_ && os::loader_counts() == PltState::last_counts()) return;
    const os::ErrnoGuard error;
    opened_ = !callbacks_.load(std::memory_order_acquire)->refresh();
  }

  /// As dlclose(3). Destructors of the module run inside, and what they free is the program's: so
  /// no guard is held.
  ALLOCTAP_NOINLINE static int close(void* handle) {
    auto* const original = reinterpret_cast<int (*)(void*)>(close_.load(std::memory_order_acquire));
    if (!is_programs()) return original(handle);
    leave_out_caller();
    refresh_if_opened();
    if (has_other_notices_.load(std::memory_order_relaxed)) return original(handle);
    const PltLoaderCallbacks& callbacks = *callbacks_.load(std::memory_order_acquire);
    callbacks.unloading();
    const int error = original(handle);
    callbacks.unloaded();
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

  static inline constinit std::atomic<const PltLoaderCallbacks*> callbacks_{nullptr};
  static inline constinit std::atomic<const PltInterposedOpen*> interposed_open_{nullptr};
  static inline constinit std::atomic<bool> has_other_notices_{false};
  static inline constinit Original open_{0};
  static inline constinit Original open_in_{0};
  static inline constinit Original symbol_{0};
  static inline constinit Original close_{0};
  /// Whether this thread has opened modules since it last looked at their slots.
  ALLOCTAP_INITIAL_EXEC static inline constinit thread_local bool opened_ = false;
};

extern "C" {
ALLOCTAP_CALLED_BY_ASSEMBLER inline arch::ForwardedOpen alloctap_plt_before_open(
    std::uintptr_t caller, int flags) noexcept {
  return PltLoaderCalls::before_open(caller, flags);
}
ALLOCTAP_CALLED_BY_ASSEMBLER inline arch::ForwardedOpen alloctap_plt_before_open_in(
    std::uintptr_t caller) noexcept {
  return PltLoaderCalls::before_open_in(caller);
}
ALLOCTAP_CALLED_BY_ASSEMBLER inline void alloctap_plt_after_open(const void* handle) noexcept {
  PltLoaderCalls::after_open(handle);
}
ALLOCTAP_CALLED_BY_ASSEMBLER inline std::uintptr_t alloctap_plt_before_symbol() noexcept {
  return PltLoaderCalls::before_symbol();
}
}

}  // namespace alloctap
