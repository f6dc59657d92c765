/// Backend for custom allocators, to which the program reports each allocation by a call.
#pragma once

#include <atomic>
#include <cstddef>

#include "alloctap/hook/hook_backend.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Backend that patches nothing: the program calls these functions from its allocator. The
/// functions do nothing unless a tracker runs. Thread-safe; callable inside malloc.
///
/// Call `on_allocate` after the allocator returned a block, and `on_free` before it frees one.
/// Around a reallocation, which may fail, call `begin_reallocate` and pass its result to
/// `end_reallocate`. `Domain` is any type, and each `Domain` feeds at most one tracker.
template <class Domain = void>
struct ManualHook {
  static constexpr std::string_view name = "manual";
  static constexpr HookCapabilities capabilities{
      .target = HookTarget::kManual,
      .owns_every_free = true,
      .sees_later_modules = true,
      .sees_mappings = true,
      .blind_spots = "what the program does not report",
  };

  /// Records a block; `size` and `alignment` are in bytes.
  ALLOCTAP_NOINLINE static void on_allocate(void* block, std::size_t size,
                                            std::size_t alignment = 0) noexcept {
    const Feed* feed = feed_.load(std::memory_order_acquire);
    if (feed == nullptr || block == nullptr) return;
    const Scope scope;
    feed->allocate(AllocationEvent{.pointer = block,
                                   .size = size,
                                   .alignment = alignment,
                                   .kind = AllocationKind::kCustom,
                                   .origin = ALLOCTAP_CALL_ORIGIN()});
  }

  ALLOCTAP_NOINLINE static void on_free(void* block) noexcept {
    const Feed* feed = feed_.load(std::memory_order_acquire);
    if (feed == nullptr || block == nullptr) return;
    const Scope scope;
    feed->deallocate(DeallocationEvent{
        .pointer = block, .kind = DeallocationKind::kCustom, .origin = ALLOCTAP_CALL_ORIGIN()});
  }

  /// Detaches the record of `block`. Call before the allocator moves the block.
  [[nodiscard]] ALLOCTAP_NOINLINE static DetachedBlock begin_reallocate(void* block) noexcept {
    const Feed* feed = feed_.load(std::memory_order_acquire);
    if (feed == nullptr || block == nullptr) return {};
    const Scope scope;
    return feed->begin_reallocate(DeallocationEvent{
        .pointer = block, .kind = DeallocationKind::kCustom, .origin = ALLOCTAP_CALL_ORIGIN()});
  }

  /// Records that the reallocation returned `block`. Restores the old record if `block` is nullptr.
  ALLOCTAP_NOINLINE static void end_reallocate(const DetachedBlock& old, void* block,
                                               std::size_t size,
                                               std::size_t alignment = 0) noexcept {
    const Feed* feed = feed_.load(std::memory_order_acquire);
    if (feed == nullptr) return;
    const Scope scope;
    if (block == nullptr) return feed->cancel_reallocate(old);
    feed->finish_reallocate(old);
    feed->allocate(AllocationEvent{.pointer = block,
                                   .size = size,
                                   .alignment = alignment,
                                   .kind = AllocationKind::kCustom,
                                   .origin = ALLOCTAP_CALL_ORIGIN(),
                                   .reallocated = &old});
  }

  /// Records that the program mapped `[address, address + length)`.
  ALLOCTAP_NOINLINE static void on_map(void* address, std::size_t length) noexcept {
    const Feed* feed = feed_.load(std::memory_order_acquire);
    if (feed == nullptr) return;
    const Scope scope;
    feed->map(MappingEvent{.address = address, .length = length, .origin = ALLOCTAP_CALL_ORIGIN()});
  }

  /// Records that `[address, address + length)` is about to be unmapped. Unmapping must not fail.
  ALLOCTAP_NOINLINE static void on_unmap(void* address, std::size_t length) noexcept {
    const Feed* feed = feed_.load(std::memory_order_acquire);
    if (feed == nullptr) return;
    const Scope scope;
    feed->unmap(
        MappingEvent{.address = address, .length = length, .origin = ALLOCTAP_CALL_ORIGIN()});
  }

  /// Call before dlclose, unless a backend hooks dlclose. Preserves the names of the module's
  /// frames.
  static void on_modules_unloading() noexcept {
    const Feed* feed = feed_.load(std::memory_order_acquire);
    if (feed != nullptr) feed->modules_unloading();
  }

  /// Call after dlclose, unless a backend hooks dlclose. Drops cached data about the module's code,
  /// because the next module may be loaded at the code's addresses.
  static void on_modules_unloaded() noexcept {
    const Feed* feed = feed_.load(std::memory_order_acquire);
    if (feed != nullptr) feed->modules_unloaded();
  }

  template <EventSink Sink>
  static Status install() {
    static constexpr Feed kFeed{
        .allocate = &Sink::on_allocate,
        .deallocate = &Sink::on_deallocate,
        .begin_reallocate = &Sink::begin_reallocate,
        .cancel_reallocate = &Sink::cancel_reallocate,
        .finish_reallocate = &Sink::finish_reallocate,
        .map = &Sink::on_map,
        .unmap = &unmap_for_good<Sink>,
        .modules_unloading = &Sink::on_modules_unloading,
        .modules_unloaded = &Sink::on_modules_unloaded,
    };
    const Feed* nobody = nullptr;
    if (feed_.compare_exchange_strong(nobody, &kFeed, std::memory_order_acq_rel)) {
      return Status();
    }
    return Status::failed_precondition(
        "ManualHook: this domain feeds another tracker already; give each tracker a domain type of "
        "its own, as in ManualHook<struct TextureHeap>");
  }

  static void uninstall() noexcept { feed_.store(nullptr, std::memory_order_release); }

 private:
  /// Type-erased sink, so that callers need not name the tracker.
  struct Feed {
    void (*allocate)(const AllocationEvent&) noexcept;
    void (*deallocate)(const DeallocationEvent&) noexcept;
    DetachedBlock (*begin_reallocate)(const DeallocationEvent&) noexcept;
    void (*cancel_reallocate)(const DetachedBlock&) noexcept;
    void (*finish_reallocate)(const DetachedBlock&) noexcept;
    void (*map)(const MappingEvent&) noexcept;
    void (*unmap)(const MappingEvent&) noexcept;
    void (*modules_unloading)() noexcept;
    void (*modules_unloaded)() noexcept;
  };

  struct Scope {
    os::ErrnoGuard preserve_error;
    ReentrancyGuard guard;
  };

  template <EventSink Sink>
  static void unmap_for_good(const MappingEvent& mapping) noexcept {
    DetachedMappings detached = Sink::begin_unmap(mapping);
    Sink::finish_unmap(detached);
  }

  static inline constinit std::atomic<const Feed*> feed_{nullptr};
};

static_assert(HookBackend<ManualHook<>>);

}  // namespace alloctap
