/// Hooks the functions of ntdll.dll that load modules and look up addresses, in import table slots.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/hook/plt/target.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Functions that the handlers call in addition to the originals.
struct WindowsLoaderCallbacks {
  /// Returns the handler of the function at `address`, or `address` if it is not hooked.
  std::uintptr_t (*handler_of)(std::uintptr_t address) noexcept = nullptr;
  /// Called after a call that may have loaded a module.
  void (*loaded)() noexcept = nullptr;
};

/// Handlers of LdrLoadDll, which LoadLibrary calls, and of the function that GetProcAddress calls:
/// on Windows 10 and 11 LdrGetProcedureAddressForCaller, elsewhere LdrGetProcedureAddress. Calls by
/// the tracker pass through.
class WindowsLoaderCalls {
 public:
  /// `callbacks` must have static storage duration. If it is nullptr, all calls pass through.
  static void set(const WindowsLoaderCallbacks* callbacks) noexcept {
    callbacks_.store(callbacks, std::memory_order_release);
  }

  /// Adds the loader's functions to `targets`. Returns false if `targets` is full.
  [[nodiscard]] static bool add_to(PltTargets& targets) noexcept {
    return targets.add(describe<load_>("LdrLoadDll", &load)) &&
           targets.add(describe<find_>("LdrGetProcedureAddress", &find)) &&
           targets.add(describe<find_for_>("LdrGetProcedureAddressForCaller", &find_for));
  }

 private:
  using Load = NTSTATUS(void* path, ULONG* characteristics, const void* name, void** module);
  using Find = NTSTATUS(void* module, const void* name, ULONG number, void** address);
  using FindFor = NTSTATUS(void* module, const void* name, ULONG number, void** address,
                           ULONG flags, void** caller);

  /// Returns the callbacks, or nullptr if the tracker made the call.
  static const WindowsLoaderCallbacks* callbacks() noexcept {
    const bool is_own = this_thread_slot().depth.load(std::memory_order_relaxed) > 0;
    return is_own ? nullptr : callbacks_.load(std::memory_order_acquire);
  }

  /// Holds no `ReentrancyGuard`, because allocations in the module's DllMain are the program's.
  ALLOCTAP_NOINLINE static NTSTATUS load(void* path, ULONG* characteristics, const void* name,
                                         void** module) {
    const NTSTATUS status = original<Load>(load_)(path, characteristics, name, module);
    if (const auto* const now = callbacks(); now != nullptr) {
      const os::ErrnoGuard preserve_error;
      now->loaded();
    }
    return status;
  }

  ALLOCTAP_NOINLINE static NTSTATUS find(void* module, const void* name, ULONG number,
                                         void** address) {
    return answer(original<Find>(find_)(module, name, number, address), address);
  }

  ALLOCTAP_NOINLINE static NTSTATUS find_for(void* module, const void* name, ULONG number,
                                             void** address, ULONG flags, void** caller) {
    return answer(original<FindFor>(find_for_)(module, name, number, address, flags, caller),
                  address);
  }

  static NTSTATUS answer(NTSTATUS status, void** address) noexcept {
    const auto* const now = status >= 0 ? callbacks() : nullptr;
    if (now != nullptr) {
      const auto found = reinterpret_cast<std::uintptr_t>(*address);
      *address = reinterpret_cast<void*>(now->handler_of(found));
    }
    return status;
  }

  using Original = std::atomic<std::uintptr_t>;

  template <class Signature>
  static Signature* original(const Original& place) noexcept {
    return reinterpret_cast<Signature*>(place.load(std::memory_order_acquire));
  }

  template <Original& kOriginal, class Signature>
  static PltTarget describe(const char* name, Signature* handler) noexcept {
    return {.name = name,
            .handler = reinterpret_cast<std::uintptr_t>(handler),
            .publish = [](std::uintptr_t original) noexcept {
              kOriginal.store(original, std::memory_order_release);
            }};
  }

  static inline constinit std::atomic<const WindowsLoaderCallbacks*> callbacks_{nullptr};
  static inline constinit Original load_{0};
  static inline constinit Original find_{0};
  static inline constinit Original find_for_{0};
};

}  // namespace alloctap
