/// The loader's function that takes code away, interposed.
#pragma once

#include <atomic>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/internal_frames.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/next_symbol.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Tells `Sink` of modules that the program closes. What the C library closes of its own (character
/// conversion, name services) does not pass here; it seldom does.
template <EventSink Sink>
class InterposedModules {
 public:
  /// As dlclose(3). Destructors of the module run inside, and what they free is the program's: so
  /// no guard is held. Folded into dlclose, so that they run inside of one function of ours.
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
