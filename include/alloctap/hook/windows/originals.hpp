/// The functions of ntdll.dll that calls were meant for, where a hook redirects them.
#pragma once

#include <atomic>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/original_functions.hpp"

namespace alloctap {

/// With what is wanted of calls that are redirected. Thread-safe; may be read inside malloc.
template <EventSink Sink>
class WindowsOriginals : public OriginalFunctions<WindowsOriginals<Sink>> {
 public:
  /// Whether events are wanted now. Entries that are reached while they are not hand calls on.
  static bool recording() noexcept { return recording_.load(std::memory_order_acquire); }
  static void set_recording(bool on) noexcept { recording_.store(on, std::memory_order_release); }

  /// Whether blocks are checked: of a `CheckingSink`, from when all its entries are reached on, and
  /// for ever, because what is given back later may begin inside of a block of the heap's.
  static bool checking() noexcept { return checking_.load(std::memory_order_acquire); }
  static void begin_checking() noexcept { checking_.store(true, std::memory_order_release); }

 private:
  static inline constinit std::atomic<bool> recording_{false};
  static inline constinit std::atomic<bool> checking_{false};
};

}  // namespace alloctap
