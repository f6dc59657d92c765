/// Original functions of ntdll.dll behind hooked ones.
#pragma once

#include <atomic>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/original_functions.hpp"

namespace alloctap {

/// Also holds what hooked calls must do. Thread-safe; readable inside malloc.
template <EventSink Sink>
class WindowsOriginals : public OriginalFunctions<WindowsOriginals<Sink>> {
 public:
  /// Returns true while a tracker records. Otherwise entries pass calls through.
  static bool recording() noexcept { return recording_.load(std::memory_order_acquire); }
  static void set_recording(bool on) noexcept { recording_.store(on, std::memory_order_release); }

  /// Returns true if a `CheckingSink` checks blocks: from the moment all entries are installed, for
  /// ever. Live blocks may begin inside a heap block, and must be freed through the hook.
  static bool checking() noexcept { return checking_.load(std::memory_order_acquire); }
  static void begin_checking() noexcept { checking_.store(true, std::memory_order_release); }

 private:
  static inline constinit std::atomic<bool> recording_{false};
  static inline constinit std::atomic<bool> checking_{false};
};

}  // namespace alloctap
