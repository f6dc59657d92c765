/// Interposed dlclose, and the exclusion of dlclose handlers from captured stacks.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/arch/dwarf_registers.hpp"
#include "alloctap/event/address_range.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/loaded_images.hpp"
#include "alloctap/pe/native_function.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Excludes the calling function, which calls program code, from captured stacks. Adds its address
/// range to `internal_code`. Finds the range in unwind tables. Lock-free; must not be called inside
/// malloc.
ALLOCTAP_NOINLINE inline void leave_out_caller() noexcept {
  const auto address = arch::DwarfRegisters::strip_signature(
      reinterpret_cast<std::uintptr_t>(ALLOCTAP_RETURN_ADDRESS()));
  if (internal_code.contains(address - 1)) return;
  const native::FunctionExtent extent = native::find_function_extent(address - 1);
  internal_code.add({extent.begin, extent.end});
}

/// Interposed dlclose: notifies `Sink` when the program closes modules. Does not see modules that
/// the C library closes itself (iconv, NSS), which is rare.
template <EventSink Sink>
class InterposedModules {
 public:
  /// Implements dlclose(3). Holds no `ReentrancyGuard` during the original call, because frees in
  /// the module's destructors count as frees by the program. Inlined, so that only one frame of the
  /// hook is on the stack while the destructors run.
  ALLOCTAP_ALWAYS_INLINE static int close(void* handle) noexcept {
    CloseFunction* const original = find_original();
    if (original == nullptr) return -1;
    leave_out_caller();
    Sink::on_modules_unloading();
    const int error = original(handle);
    Sink::on_modules_unloaded();
    return error;
  }

 private:
  using CloseFunction = int(void*) noexcept;

  static CloseFunction* find_original() noexcept {
    CloseFunction* original = original_.load(std::memory_order_acquire);
    if (original != nullptr) return original;
    const UseInternalArena own;
    original = reinterpret_cast<CloseFunction*>(os::next_symbol("dlclose"));
    original_.store(original, std::memory_order_release);
    return original;
  }

  static inline constinit std::atomic<CloseFunction*> original_{nullptr};
};

}  // namespace alloctap
