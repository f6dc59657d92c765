/// Real functions behind patched GOT slots or patched functions.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/bootstrap_calls.hpp"
#include "alloctap/hook/original_functions.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Set before any call is redirected and never cleared, because a thread may still be in a handler
/// after uninstall. Thread-safe.
template <EventSink Sink>
class RedirectedOriginals : public OriginalFunctions<RedirectedOriginals<Sink>> {
 public:
  /// Until the originals are known, calls are served from the bootstrap arena.
  static constexpr bool kHandsOutStandIns = true;

  /// Returns the original, never null inside a handler. Returns a stand-in while this thread
  /// allocates for the tracker.
  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static typename Function::Signature* get() noexcept {
    if constexpr (requires { &BootstrapCall<Function>::call; }) {
      if (UseInternalArena::active()) [[unlikely]] {
        return &BootstrapCall<Function>::call;
      }
    }
    return Functions::template get<Function>();
  }

  static bool recording() noexcept { return recording_.load(std::memory_order_relaxed); }
  static void set_recording(bool on) noexcept { recording_.store(on, std::memory_order_release); }

 private:
  using Functions = OriginalFunctions<RedirectedOriginals>;

  static inline constinit std::atomic<bool> recording_{false};
};

}  // namespace alloctap
