/// The functions that calls were meant for, where a hook redirects calls: slots, or the functions
/// themselves.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/bootstrap_calls.hpp"
#include "alloctap/hook/original_functions.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Found before any call is redirected, and kept for ever: a call may be on its way through a
/// handler when all is restored.
template <EventSink Sink>
class RedirectedOriginals : public OriginalFunctions<RedirectedOriginals<Sink>> {
 public:
  /// Before the originals are found, calls are served from the bootstrap arena.
  static constexpr bool kHandsOutStandIns = true;

  /// Never null inside a handler: the original, or a stand-in while this thread's allocations are
  /// the tracker's own.
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
