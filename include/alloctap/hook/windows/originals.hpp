/// Original functions of ntdll.dll behind hooked ones.
#pragma once

#include <atomic>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/original_functions.hpp"

namespace alloctap {

/// Originals, and flags that control their handlers. Thread-safe; readable inside malloc.
template <EventSink Sink>
class WindowsOriginals : public OriginalFunctions<WindowsOriginals<Sink>> {
 public:
  /// Returns true while a tracker records. Otherwise handlers report nothing.
  static bool recording() noexcept { return recording_.load(std::memory_order_acquire); }
  static void set_recording(bool on) noexcept { recording_.store(on, std::memory_order_release); }

  /// Returns true if a `CheckingSink` checks blocks. This begins when all entries are installed and
  /// never ends. Live blocks may begin inside a heap block, and must be freed through the hook.
  static bool checking() noexcept { return checking_.load(std::memory_order_acquire); }
  static void begin_checking() noexcept { checking_.store(true, std::memory_order_release); }

 private:
  static inline constinit std::atomic<bool> recording_{false};
  static inline constinit std::atomic<bool> checking_{false};
};

}  // namespace alloctap
