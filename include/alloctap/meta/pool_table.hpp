/// The registry of the program's memory pools, and the pool functions of annotate.h.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <string_view>

#include "alloctap/annotate.h"
#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/offered_annotations.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/thread_local.hpp"
#include "alloctap/runtime/arena.hpp"
#include "alloctap/runtime/fork_handlers.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/static_objects.hpp"
#include "alloctap/runtime/text_bytes.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// The handle of a pool: its slot and a generation, which detects use after destruction.
struct PoolHandle {
  static constexpr unsigned kSlotBits = 12;

  /// 0 if the handle is empty.
  std::uint32_t value = 0;

  [[nodiscard]] static constexpr PoolHandle of(std::uint32_t slot,
                                               std::uint32_t generation) noexcept {
    return {generation << kSlotBits | slot};
  }
  [[nodiscard]] constexpr std::uint32_t slot() const noexcept {
    return value & ((1U << kSlotBits) - 1);
  }
  [[nodiscard]] constexpr std::uint32_t generation() const noexcept { return value >> kSlotBits; }
};

/// The process's pools, shared by all trackers. A destroyed pool keeps its slot and name. The next
/// pool with that name reuses the slot, so a program may create and destroy pools without end.
///
/// Thread-safe, safe around fork. Only `create` and `create_once` take a lock. Hooks may use only
/// const functions. Names are arena memory that is never freed. Constant-initialized, never
/// destroyed.
class PoolTable {
 public:
  /// The number of slots; the first slot is 1.
  static constexpr std::uint32_t kMaxPools = (1U << PoolHandle::kSlotBits) - 1;
  /// The maximum length in bytes; longer names are cut.
  static constexpr std::size_t kMaxNameLength = 200;

  constexpr PoolTable() noexcept = default;
  PoolTable(const PoolTable&) = delete;
  PoolTable& operator=(const PoolTable&) = delete;

  /// Creates a pool. Returns an empty handle if all slots are used or if out of memory.
  [[nodiscard]] PoolHandle create(std::string_view name) noexcept {
    static_cast<void>(ForkHandlers::ensure_registered());
    // A fork waits until this scope ends, so it finds the lock free.
    const RecordingScope section;
    const std::lock_guard hold(lock_);
    return create_locked(name);
  }

  /// Returns the handle in `once`, the same on all threads. If `once` is 0, first creates the pool.
  [[nodiscard]] PoolHandle create_once(std::atomic<std::uint32_t>& once,
                                       std::string_view name) noexcept {
    static_cast<void>(ForkHandlers::ensure_registered());
    const RecordingScope section;
    const std::lock_guard hold(lock_);
    const std::uint32_t known = once.load(std::memory_order_relaxed);
    if (known != 0) return {known};
    const PoolHandle made = create_locked(name);
    once.store(made.value, std::memory_order_release);
    return made;
  }

  /// Destroys a pool. Returns false if the pool does not exist.
  [[nodiscard]] bool destroy(PoolHandle pool) noexcept {
    if (pool.slot() == 0) return false;
    std::uint32_t expected = pool.generation() << 1 | kAlive;
    return entries_[pool.slot()].state.compare_exchange_strong(
        expected, pool.generation() << 1, std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  [[nodiscard]] bool is_alive(PoolHandle pool) const noexcept {
    const std::uint32_t state = entries_[pool.slot()].state.load(std::memory_order_acquire);
    return state == (pool.generation() << 1 | kAlive);
  }

  /// Sets the pool's overhead. Returns false if the pool does not exist.
  bool set_overhead(PoolHandle pool, std::uint64_t bytes) noexcept {
    if (!is_alive(pool)) return false;
    entries_[pool.slot()].overhead.store(bytes, std::memory_order_relaxed);
    return true;
  }

  /// Returns one more than the highest used slot.
  [[nodiscard]] std::uint32_t end_slot() const noexcept {
    return count_.load(std::memory_order_acquire) + 1;
  }

  // Precondition of the following functions: `slot` is below `end_slot()`. Names are never freed.

  [[nodiscard]] std::string_view name(std::uint32_t slot) const noexcept {
    return {entries_[slot].name, entries_[slot].name_length};
  }
  [[nodiscard]] bool is_destroyed(std::uint32_t slot) const noexcept {
    return (entries_[slot].state.load(std::memory_order_acquire) & kAlive) == 0;
  }
  /// Returns the overhead in bytes; 0 if the pool was destroyed.
  [[nodiscard]] std::uint64_t overhead(std::uint32_t slot) const noexcept {
    return is_destroyed(slot) ? 0 : entries_[slot].overhead.load(std::memory_order_relaxed);
  }

  /// Returns the number of `create` calls that failed.
  [[nodiscard]] std::uint64_t refused() const noexcept {
    return refused_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kAlive = 1;

  struct Entry {
    /// {generation : 31, alive : 1}.
    std::atomic<std::uint32_t> state;
    std::uint32_t name_length;
    std::size_t name_hash;
    const char* name;
    std::atomic<std::uint64_t> overhead;
  };

  /// Returns the next generation, which wraps to 1. Never 0, so that no handle of a pool is 0.
  static constexpr std::uint32_t next(std::uint32_t generation) noexcept {
    constexpr std::uint32_t kMaxGeneration = (1U << (32 - PoolHandle::kSlotBits)) - 1;
    return generation == kMaxGeneration ? 1 : generation + 1;
  }

  [[nodiscard]] PoolHandle create_locked(std::string_view name) noexcept {
    name = cut_text(name, kMaxNameLength);
    std::uint32_t slot = find_destroyed(name);
    if (slot == 0) slot = add(name);
    if (slot == 0) {
      refused_.fetch_add(1, std::memory_order_relaxed);
      return {};
    }
    Entry& entry = entries_[slot];
    const std::uint32_t generation = next(entry.state.load(std::memory_order_relaxed) >> 1);
    entry.overhead.store(0, std::memory_order_relaxed);
    entry.state.store(generation << 1 | kAlive, std::memory_order_release);
    return PoolHandle::of(slot, generation);
  }

  [[nodiscard]] std::uint32_t find_destroyed(std::string_view name) const noexcept {
    const std::size_t hash = hash_text(name);
    for (std::uint32_t slot = 1; slot < end_slot(); ++slot) {
      if (entries_[slot].name_hash == hash && is_destroyed(slot) && this->name(slot) == name) {
        return slot;
      }
    }
    return 0;
  }

  [[nodiscard]] std::uint32_t add(std::string_view name) noexcept {
    const std::uint32_t slot = end_slot();
    if (slot > kMaxPools) return 0;
    auto* const text = static_cast<char*>(Arena::allocate(name.size() + 1));
    if (text == nullptr) return 0;
    std::copy(name.begin(), name.end(), text);
    entries_[slot].name = text;
    entries_[slot].name_length = static_cast<std::uint32_t>(name.size());
    entries_[slot].name_hash = hash_text(name);
    count_.store(slot, std::memory_order_release);
    return slot;
  }

  FutexLock lock_;
  /// All members are zero-initialized, so that a static table is in .bss.
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint64_t> refused_{0};
  ZeroedArray<Entry, kMaxPools + 1> entries_;
};

inline constinit PoolTable process_pools;

/// The list of trackers that record pools and had a session, and the functions that forward calls
/// to those trackers. Calls by the tracker itself (such as from a dump's output) have no effect.
/// Thread-safe; preserves errno. Constant-initialized, never destroyed.
class PoolAnnotations {
 public:
  /// The callbacks of one tracker, which do nothing while the tracker has no session. Never
  /// removed.
  struct Listener {
    void (*allocate)(PoolHandle pool, void* pointer, std::size_t bytes,
                     const CallOrigin& origin) noexcept;
    void (*free)(PoolHandle pool, void* pointer) noexcept;
    void (*reset)(PoolHandle pool) noexcept;
    void (*note_unknown_pool)() noexcept;
    std::atomic<bool> is_known{false};
    const Listener* next = nullptr;
  };

  /// Registers a listener unless it is already registered.
  static void add(Listener& listener) noexcept {
    if (listener.is_known.exchange(true, std::memory_order_relaxed)) return;
    listener.next = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(listener.next, &listener, std::memory_order_release)) {
    }
  }

  static alloctap_pool create(const char* name, std::size_t length) noexcept {
    if (inside_tracker()) return 0;
    const Scope scope;
    return process_pools.create(annotated_text(name, length)).value;
  }

  /// Returns the pool whose handle `once` stores. The first call, on any thread, creates that pool.
  static alloctap_pool create_once(std::atomic<alloctap_pool>& once,
                                   std::string_view name) noexcept {
    if (inside_tracker()) return 0;
    const Scope scope;
    return process_pools.create_once(once, name).value;
  }

  ALLOCTAP_NOINLINE static void allocate(alloctap_pool pool, void* pointer,
                                         std::size_t bytes) noexcept {
    note_allocation({pool}, pointer, bytes, ALLOCTAP_CALL_ORIGIN());
  }

  static void free(alloctap_pool pool, void* pointer) noexcept {
    if (pointer == nullptr || inside_tracker()) return;
    const Scope scope;
    for_each([&](const Listener& one) { one.free({pool}, pointer); });
  }

  ALLOCTAP_NOINLINE static void reallocate(alloctap_pool pool, void* old_pointer, void* new_pointer,
                                           std::size_t bytes) noexcept {
    if (new_pointer != nullptr || bytes == 0) free(pool, old_pointer);
    note_allocation({pool}, new_pointer, bytes, ALLOCTAP_CALL_ORIGIN());
  }

  static void set_overhead(alloctap_pool pool, std::uint64_t bytes) noexcept {
    if (!process_pools.set_overhead({pool}, bytes)) note_unknown_pool();
  }

  static void reset(alloctap_pool pool) noexcept {
    if (process_pools.is_alive({pool})) return end_blocks({pool});
    note_unknown_pool();
  }

  static void destroy(alloctap_pool pool) noexcept {
    if (process_pools.destroy({pool})) return end_blocks({pool});
    note_unknown_pool();
  }

  /// Reports an allocation on behalf of a wrapper function; `origin` is the wrapper's call site.
  static void note_allocation(PoolHandle pool, void* pointer, std::size_t bytes,
                              const CallOrigin& origin) noexcept {
    if (pointer == nullptr || inside_tracker()) return;
    const Scope scope;
    for_each([&](const Listener& one) { one.allocate(pool, pointer, bytes, origin); });
  }

 private:
  struct Scope {
    os::ErrnoGuard preserve_error;
    ReentrancyGuard guard;
  };

  static void end_blocks(PoolHandle pool) noexcept {
    if (inside_tracker()) return;
    const Scope scope;
    for_each([&](const Listener& one) { one.reset(pool); });
  }

  static void note_unknown_pool() noexcept {
    for_each([](const Listener& one) { one.note_unknown_pool(); });
  }

  static void for_each(auto&& visit) noexcept {
    for (const Listener* one = first_.load(std::memory_order_acquire); one != nullptr;
         one = one->next) {
      visit(*one);
    }
  }

  static inline constinit std::atomic<const Listener*> first_{nullptr};
};

}  // namespace alloctap

/// The function table of annotate.h's pools.
extern "C" ALLOCTAP_EXPORT inline constexpr alloctap_pool_functions alloctap_pools{
    .size = sizeof(alloctap_pool_functions),
    .create = &alloctap::PoolAnnotations::create,
    .allocate = &alloctap::PoolAnnotations::allocate,
    .free = &alloctap::PoolAnnotations::free,
    .reallocate = &alloctap::PoolAnnotations::reallocate,
    .overhead = &alloctap::PoolAnnotations::set_overhead,
    .reset = &alloctap::PoolAnnotations::reset,
    .destroy = &alloctap::PoolAnnotations::destroy,
};
