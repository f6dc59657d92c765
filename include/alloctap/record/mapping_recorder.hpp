/// The part of a recorder that mapped memory goes through.
#pragma once

#include <atomic>
#include <cstdint>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/observe/observer.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/record/thread_stats.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// What an `EventSink` does with mappings, for a `Recorder` that derives from it: they change the
/// container at once, whatever the queue.
template <class Recorder>
class MappingRecorder {
 public:
  /// Whether mappings are recorded from now on; they are at first. To be called before a session.
  static void record_mappings(bool on) noexcept { on_.store(on, std::memory_order_relaxed); }
  static bool records_mappings() noexcept { return on_.load(std::memory_order_relaxed); }

  static void on_map(const MappingEvent& event) noexcept {
    if (!on_.load(std::memory_order_relaxed)) return;
    const RecordingScope section;
    ThreadStats* totals = Recorder::ready(section.thread(), event.origin);
    if (totals == nullptr) return;
    Recorder::meta().mappings().map(reinterpret_cast<std::uintptr_t>(event.address), event.length,
                                    Recorder::capture(*section.thread(), *totals, event.origin));
    tell_mapped({.address = event.address, .length = event.length});
  }

  static DetachedMappings begin_unmap(const MappingEvent& event) noexcept {
    if (!on_.load(std::memory_order_relaxed)) return {};
    const RecordingScope section;
    if (Recorder::ready(section.thread(), event.origin) == nullptr) return {};
    DetachedMappings detached = Recorder::meta().mappings().begin_unmap(
        reinterpret_cast<std::uintptr_t>(event.address), event.length);
    detached.address = event.address;
    detached.length = event.length;
    tell_unmapped({.address = event.address, .length = event.length});
    return detached;
  }

  static void cancel_unmap(DetachedMappings& detached) noexcept {
    const RecordingScope section;
    Recorder::meta().mappings().cancel_unmap(detached);
    if (detached.length > 0) tell_mapped({.address = detached.address, .length = detached.length});
  }

  static void finish_unmap(DetachedMappings& detached) noexcept {
    if (!on_.load(std::memory_order_relaxed)) return;
    const RecordingScope section;
    Recorder::meta().mappings().finish_unmap(detached);
  }

 private:
  static void tell_mapped(const ObservedMapping& mapping) noexcept {
    if constexpr (requires { Recorder::Observers::on_map(mapping); }) {
      const os::ErrnoGuard preserve_error;
      Recorder::Observers::on_map(mapping);
    }
  }

  static void tell_unmapped(const ObservedMapping& mapping) noexcept {
    if constexpr (requires { Recorder::Observers::on_unmap(mapping); }) {
      const os::ErrnoGuard preserve_error;
      Recorder::Observers::on_unmap(mapping);
    }
  }

  static inline constinit std::atomic<bool> on_{true};
};

}  // namespace alloctap
