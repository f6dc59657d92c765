/// Event sink that allocators' own hooks report to.
#pragma once

#include <atomic>

#include "alloctap/event/event_sink.hpp"

namespace alloctap {

/// Event sink that forwards events to the connected sink, and drops them if no sink is connected.
/// Needed because some hooks cannot be uninstalled, while trackers start and stop. Thread-safe;
/// runs inside malloc.
class HookFeed {
 public:
  template <EventSink Sink>
  static void connect() noexcept {
    static constexpr Receiver kReceiver{
        .allocate = &Sink::on_allocate,
        .deallocate = &Sink::on_deallocate,
        .begin_reallocate = &Sink::begin_reallocate,
        .cancel_reallocate = &Sink::cancel_reallocate,
        .finish_reallocate = &Sink::finish_reallocate,
        .modules_unloading = &Sink::on_modules_unloading,
        .modules_unloaded = &Sink::on_modules_unloaded,
    };
    receiver_.store(&kReceiver, std::memory_order_release);
  }
  static void disconnect() noexcept { receiver_.store(nullptr, std::memory_order_release); }
  [[nodiscard]] static bool connected() noexcept { return receiver() != nullptr; }

  static void on_allocate(const AllocationEvent& event) noexcept {
    if (const Receiver* to = receiver()) to->allocate(event);
  }
  static void on_deallocate(const DeallocationEvent& event) noexcept {
    if (const Receiver* to = receiver()) to->deallocate(event);
  }
  static DetachedBlock begin_reallocate(const DeallocationEvent& event) noexcept {
    const Receiver* to = receiver();
    return to == nullptr ? DetachedBlock{} : to->begin_reallocate(event);
  }
  static void cancel_reallocate(const DetachedBlock& block) noexcept {
    if (const Receiver* to = receiver()) to->cancel_reallocate(block);
  }
  static void finish_reallocate(const DetachedBlock& block) noexcept {
    if (const Receiver* to = receiver()) to->finish_reallocate(block);
  }
  static void on_modules_unloading() noexcept {
    if (const Receiver* to = receiver()) to->modules_unloading();
  }
  static void on_modules_unloaded() noexcept {
    if (const Receiver* to = receiver()) to->modules_unloaded();
  }

  /// Empty, because no allocator's hooks report mappings.
  static void on_map(const MappingEvent&) noexcept {}
  static DetachedMappings begin_unmap(const MappingEvent&) noexcept { return {}; }
  static void cancel_unmap(DetachedMappings&) noexcept {}
  static void finish_unmap(DetachedMappings&) noexcept {}

 private:
  struct Receiver {
    void (*allocate)(const AllocationEvent&) noexcept;
    void (*deallocate)(const DeallocationEvent&) noexcept;
    DetachedBlock (*begin_reallocate)(const DeallocationEvent&) noexcept;
    void (*cancel_reallocate)(const DetachedBlock&) noexcept;
    void (*finish_reallocate)(const DetachedBlock&) noexcept;
    void (*modules_unloading)() noexcept;
    void (*modules_unloaded)() noexcept;
  };

  static const Receiver* receiver() noexcept { return receiver_.load(std::memory_order_acquire); }

  static inline constinit std::atomic<const Receiver*> receiver_{nullptr};
};

static_assert(EventSink<HookFeed>);

}  // namespace alloctap
