/// Contract of the providers of `MallocHooks`, and the event sink and handlers they report through.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <string_view>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/event_sink.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// A stateless type that makes an allocator's hooks report to `HookFeed`. If the allocator is
/// missing or its hooks are unusable, `install()` changes nothing and returns an error with the
/// remedy. `uninstall()` removes the hooks if possible; otherwise `HookFeed` drops later events.
/// Both run in the control plane, one at a time. An optional `also_unseen()` names blind spots that
/// the probe cannot detect. The origins of events point to `hooked_allocator_frames`.
template <class P>
concept HookProvider = requires {
  { P::name } -> std::convertible_to<std::string_view>;
  { P::install() } -> std::same_as<Status>;
  { P::uninstall() } noexcept -> std::same_as<void>;
};

/// Return addresses in the allocator, for frames that stacks omit. Added by the probe.
inline constinit AllocatorFrames hooked_allocator_frames;

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

/// Handlers that the allocator calls after it allocated a block, and before it frees one. Run
/// inside malloc; thread-safe.
struct ReportedCall {
  /// Reports an allocation. `block` is nullptr for a call that failed.
  ALLOCTAP_ALWAYS_INLINE static void allocated(CallOrigin origin, const volatile void* block,
                                               std::size_t size) noexcept {
    const ReentrancyGuard guard;
    if (block == nullptr || !guard.is_outermost() || !HookFeed::connected()) return;
    const os::ErrnoGuard preserve_error;
    origin.allocator = &hooked_allocator_frames;
    HookFeed::on_allocate(AllocationEvent{.pointer = const_cast<void*>(block),
                                          .size = size,
                                          .kind = AllocationKind::kMalloc,
                                          .origin = origin});
  }

  /// Reports a free. `size` is in bytes; 0 if the allocator does not report it.
  ALLOCTAP_ALWAYS_INLINE static void freeing(CallOrigin origin, const volatile void* block,
                                             std::size_t size) noexcept {
    const ReentrancyGuard guard;
    if (block == nullptr || !guard.is_outermost() || !HookFeed::connected()) return;
    const os::ErrnoGuard preserve_error;
    origin.allocator = &hooked_allocator_frames;
    HookFeed::on_deallocate(DeallocationEvent{.pointer = const_cast<void*>(block),
                                              .stated_size = size,
                                              .kind = DeallocationKind::kFree,
                                              .origin = origin});
  }
};

}  // namespace alloctap
