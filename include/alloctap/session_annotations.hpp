/// The marks and pauses of annotate.h, forwarded to every tracker that has a session.
#pragma once

#include <atomic>
#include <cstddef>
#include <string_view>

#include "alloctap/annotate.h"
#include "alloctap/event/offered_annotations.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// A lock-free list of the trackers of this process that have ever had a session.
/// Constant-initialized, never destroyed; thread-safe. Control plane.
class SessionAnnotations {
 public:
  /// The functions of one tracker, which do nothing without a session. Never destroyed.
  struct Tracker {
    void (*mark)(std::string_view name) noexcept;
    void (*pause)() noexcept;
    void (*resume)() noexcept;
    std::atomic<bool> is_known{false};
    const Tracker* next = nullptr;
  };

  /// Adds a tracker; does nothing if it was added before.
  static void add(Tracker& tracker) noexcept {
    if (tracker.is_known.exchange(true, std::memory_order_relaxed)) return;
    tracker.next = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(tracker.next, &tracker, std::memory_order_release)) {
    }
  }

  static void mark(const char* name, std::size_t length) noexcept {
    for_each([text = annotated_text(name, length)](const Tracker& one) { one.mark(text); });
  }
  static void pause() noexcept {
    for_each([](const Tracker& one) { one.pause(); });
  }
  static void resume() noexcept {
    for_each([](const Tracker& one) { one.resume(); });
  }

 private:
  static void for_each(auto&& visit) noexcept {
    for (const Tracker* one = first_.load(std::memory_order_acquire); one != nullptr;
         one = one->next) {
      visit(*one);
    }
  }

  static inline constinit std::atomic<const Tracker*> first_{nullptr};
};

}  // namespace alloctap

/// The function table for sessions of annotate.h.
extern "C" ALLOCTAP_EXPORT inline constexpr alloctap_session_functions alloctap_sessions{
    .size = sizeof(alloctap_session_functions),
    .mark = &alloctap::SessionAnnotations::mark,
    .pause = &alloctap::SessionAnnotations::pause,
    .resume = &alloctap::SessionAnnotations::resume,
};
