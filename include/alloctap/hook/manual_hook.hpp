/// The program tells of its allocations itself: for allocators of its own.
#pragma once

#include <atomic>
#include <cstddef>

#include "alloctap/hook/hook_backend.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/status.hpp"

namespace alloctap {

/// Patches nothing. The program calls these functions from its allocator; before `start` and after
/// the session they do nothing. Thread-safe. They may be called inside malloc.
///
/// Call `on_allocate` after the allocator has handed out the block and `on_free` before it takes it
/// back. For a reallocation that may fail, hold what `begin_reallocate` returns until the outcome
/// is known. `Domain` is any type: trackers with different domains are fed apart.
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

  /// `size` and `alignment` in bytes.
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

  /// Takes the record of `block` out while the allocator moves it.
  [[nodiscard]] ALLOCTAP_NOINLINE static DetachedBlock begin_reallocate(void* block) noexcept {
    const Feed* feed = feed_.load(std::memory_order_acquire);
    if (feed == nullptr || block == nullptr) return {};
    const Scope scope;
    return feed->begin_reallocate(DeallocationEvent{
        .pointer = block, .kind = DeallocationKind::kCustom, .origin = ALLOCTAP_CALL_ORIGIN()});
  }

  /// The reallocation gave `block`, or failed if that is nullptr: then nothing has changed.
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

  /// `[address, address + length)` was mapped by the program.
  ALLOCTAP_NOINLINE static void on_map(void* address, std::size_t length) noexcept {
    const Feed* feed = feed_.load(std::memory_order_acquire);
    if (feed == nullptr) return;
    const Scope scope;
    feed->map(MappingEvent{.address = address, .length = length, .origin = ALLOCTAP_CALL_ORIGIN()});
  }

  /// `[address, address + length)` is about to be unmapped, which cannot fail.
  ALLOCTAP_NOINLINE static void on_unmap(void* address, std::size_t length) noexcept {
    const Feed* feed = feed_.load(std::memory_order_acquire);
    if (feed == nullptr) return;
    const Scope scope;
    feed->unmap(
        MappingEvent{.address = address, .length = length, .origin = ALLOCTAP_CALL_ORIGIN()});
  }

  /// A module is about to be unloaded: to be called before dlclose, where nothing else sees it, so
  /// that its frames keep their names.
  static void on_modules_unloading() noexcept {
    const Feed* feed = feed_.load(std::memory_order_acquire);
    if (feed != nullptr) feed->modules_unloading();
  }

  /// A module was unloaded: to be called after dlclose, where nothing else sees it. What is
  /// remembered of its code must not be taken for that of the next one at its place.
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
  /// The sink's functions, so that the program's calls need not name the tracker.
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
