/// This object, where trackers ask for it.
#pragma once

#include <alloctap/event/allocation_event.hpp>
#include <atomic>

extern "C" {
// Where this object lies in memory (GNU ld).
__attribute__((visibility("hidden"))) extern const char __ehdr_start[];
__attribute__((visibility("hidden"))) extern const char _end[];
}

namespace alloctap::run {

struct OwnObject {
  /// Whether a call comes from this object itself: its C++ library sets memory aside when it is
  /// loaded. Runs inside malloc.
  static bool is_caller(const CallOrigin& origin) noexcept {
    const auto* caller = static_cast<const char*>(origin.caller);
    // Most calls come from the executable, which lies below.
    if (caller < __ehdr_start) [[likely]] {
      return false;
    }
    return caller < _end;
  }

  /// Set at the end of its constructors.
  static inline constinit std::atomic<bool> is_loaded{false};
};

}  // namespace alloctap::run
