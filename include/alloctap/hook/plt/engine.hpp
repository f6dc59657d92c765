/// Engine of `PltHook`, and its handlers of dlopen, dlmopen, dlsym and dlclose.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "alloctap/arch/forwarding_entries.hpp"
#include "alloctap/arch/shadow_stack.hpp"
#include "alloctap/elf/find_return_gadget.hpp"
#include "alloctap/hook/module_unloading.hpp"
#include "alloctap/hook/plt/pass.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/loaded_images.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Functions that the handlers call in addition to the originals.
struct PltLoaderCallbacks {
  using Callback = void (*)() noexcept;
  /// Hooks new modules. Returns false if the modules cannot be hooked now.
  bool (*refresh)() noexcept = nullptr;
  Callback unloading = nullptr;
  Callback unloaded = nullptr;
};

/// Functions called around dlopen(3) if the tracker interposes dlopen instead of hooking slots.
struct PltInterposedOpen {
  /// `open` is the original dlopen; `caller` is the return address.
  arch::ForwardedOpen (*begin)(std::uintptr_t open, std::uintptr_t caller, int flags) noexcept;
  /// Called only if `begin` returned a gadget.
  void (*end)(const void* handle) noexcept;
};

/// Handlers of dlopen, dlmopen, dlsym and dlclose in GOT slots. Calls by the tracker pass through.
/// Thread-safe.
///
/// The results of dlopen, dlmopen and dlsym depend on the caller, because of RPATH, $ORIGIN,
/// namespaces and RTLD_NEXT. The hook enters these functions by a jump, so their return address
/// lies in the program. dlopen and dlmopen return to a gadget in the caller's module, and the
/// gadget returns to the hook. The hook then patches the GOT slots of the opened modules before the
/// caller continues. If unwind tables are missing, or under a hardware shadow stack, no gadget is
/// used. The hook then patches the slots at the program's next dlopen, dlmopen, dlsym or dlclose.
///
/// Allocations in constructors of opened modules are not seen. Modules in other dlmopen namespaces
/// are never seen, because the loader does not list them in this namespace.
class PltLoaderCalls {
 public:
  /// `callbacks` needs static storage duration, because threads may use it after the next `set`.
  static void set(const PltLoaderCallbacks& callbacks) noexcept {
    callbacks_.store(&callbacks, std::memory_order_release);
  }

  /// If `told` is true, the original dlclose notifies the sink and the handler does not.
  static void set_other_notices(bool told) noexcept {
    has_other_notices_.store(told, std::memory_order_relaxed);
  }

  /// Adds the loader's functions to `targets`. Returns false if `targets` is full.
  [[nodiscard]] static bool add_to(PltTargets& targets) noexcept {
    return targets.add(describe<open_>("dlopen", address_of(&alloctap_forward_open))) &&
           targets.add(describe<open_in_>("dlmopen", address_of(&alloctap_forward_open_in))) &&
           targets.add(describe<symbol_>("dlsym", address_of(&alloctap_forward_symbol))) &&
           targets.add(describe<close_>("dlclose", address_of(&close)));
  }

  /// `interposed` must have static storage duration. Must not be called after slots are hooked.
  static void set_interposed_open(const PltInterposedOpen& interposed) noexcept {
    interposed_open_.store(&interposed, std::memory_order_release);
  }

  /// `caller` is the return address of the dlopen call, `flags` its second argument.
  static arch::ForwardedOpen before_open(std::uintptr_t caller, int flags) noexcept {
    const PltInterposedOpen* const interposed = interposed_open_.load(std::memory_order_acquire);
    if (interposed != nullptr) return interposed->begin(interposed_original(), caller, flags);
    return before(open_, caller);
  }

  /// Variant of `before_open` for dlmopen(3).
  static arch::ForwardedOpen before_open_in(std::uintptr_t caller) noexcept {
    return before(open_in_, caller);
  }

  /// Hooks opened modules. Does nothing if the call failed, so that dlerror(3) reports the error.
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

  /// Hooks new modules if this thread opened a module, or if the loader's counts changed. If
  /// modules could not be hooked, the next call of the loader tries again.
  static void refresh_if_opened() noexcept {
    if (!opened_ && os::loader_counts() == PltState::last_counts()) return;
    const os::ErrnoGuard error;
    opened_ = !callbacks_.load(std::memory_order_acquire)->refresh();
  }

  /// Implements dlclose(3). Holds no `ReentrancyGuard` during the original call, because frees in
  /// the module's destructors count as frees by the program.
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
  /// Whether this thread opened modules whose slots are not hooked yet.
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

/// Report on the slots of one module. Slots that import the loader's functions are not counted.
struct PltModuleReport {
  std::string path;
  /// Number of slots that point to a handler.
  std::uint32_t hooked = 0;
  /// Number of slots that import chosen functions but do not point to a handler.
  std::uint32_t skipped = 0;
  /// Why slots were skipped, or why no slot is hooked; empty if all slots are hooked.
  std::string why;
};

struct PltReport {
  std::vector<PltModuleReport> modules;
  /// Warnings about patterns without effect, and about modules that were perhaps hooked too late.
  std::vector<std::string> warnings;
  std::uint32_t hooked_slots = 0;
};

/// Returns why slots of `module` are not hooked.
[[nodiscard]] std::string why_skipped(const PltModule& module);

/// Returns a warning if `pattern` hooked nothing in `modules`, else an empty string.
[[nodiscard]] std::string warn_of(const ModulePattern& pattern,
                                  const ArenaArray<PltModule>& modules);

/// Returns a report on `modules`, the result of a finished walk. Allocates.
[[nodiscard]] PltReport make_plt_report(const PltState& state,
                                        const ArenaArray<PltModule>& modules);

/// The part of `PltHook` that does not depend on the sink: finds originals, evaluates patterns and
/// walks GOT slots. A walk holds the loader's list lock. Patterns are evaluated and symbols looked
/// up between walks, because both may wait for this lock.
class PltEngine {
 public:
  /// Requires the control lock, and that `plt_state` has its `targets` and `selections`.
  static Status install();

  /// Hooks modules opened since the last walk. Waits at most 0.1 s for the control lock: the thread
  /// that holds the control lock may wait for the loader's lock, which this thread may hold in a
  /// constructor. Returns false on timeout or out of memory. After a failure, the next call hooks
  /// the modules. Reports count the failures.
  static bool refresh() noexcept;

  /// Restores the slots of loaded modules that still hold handlers. Requires the control lock.
  static void uninstall() noexcept;

  /// Returns the state of all slots. Acquires the control lock.
  [[nodiscard]] static PltReport report();

 private:
  /// Maximum number of walks per call. Unknown modules or originals need another walk.
  static constexpr int kMaxWalks = 8;

  static bool program_is_static() noexcept;

  /// Pins this module, because threads may be in handlers after the slots are restored. Returns
  /// false if the loader does not know this module. If `PltState::left_alone` has an entry, returns
  /// true without pinning: this module was then loaded at program start and may be in its
  /// constructor, and pinning calls dlopen, which would run all other constructors early.
  static bool pin_own_module() noexcept;

  static void find_originals() noexcept;

  static void publish(PltTarget& target, std::uintptr_t original) noexcept;

  /// Finds PLT entries of the executable that serve as a function's address in every module. Their
  /// symbols are undefined but have a value (System V ABI, AMD64 supplement, "Function Addresses").
  static void find_program_stubs() noexcept;

  /// Repeats the walk until no module or original is unknown. Requires the control lock.
  static ArenaArray<PltModule> hook_until_settled();

  static bool try_refresh() noexcept;

  /// Publishes the originals that `missing` holds, then walks. Replaces `missing` by the functions
  /// whose originals are still unknown. Returns false if another thread held the control lock for
  /// 0.1 s.
  static bool refresh_locked(ArenaArray<MissingOriginal>& missing);

  static PltPass walk_once() noexcept;

  /// Evaluates the patterns for the modules in `unknown`. Returns true if it stored a result.
  static bool decide(const ArenaArray<PltModule>& unknown);

  /// Looks up the functions in `missing`. Acquires the loader's lock.
  static void find_missing(ArenaArray<MissingOriginal>& missing);

  /// Requires the control lock. Returns true if it published an original.
  static bool publish_found(const ArenaArray<MissingOriginal>& missing) noexcept;

  template <class T>
  static ArenaArray<T> copy(const ArenaArray<T>& array) noexcept {
    ArenaArray<T> result;
    for (const T& element : array) static_cast<void>(result.push_back(element));
    return result;
  }

  /// Returns true if a slot is hooked, or if a module opened later may have slots to hook.
  static bool can_hook(const ArenaArray<PltModule>& modules) noexcept;

  static std::string why_nothing(const ArenaArray<PltModule>& modules);
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/hook/plt/impl/engine.hpp"
#endif
