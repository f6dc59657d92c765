/// The pool functions of annotate.h, which forward to every tracker that records pools.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "alloctap/annotate.h"
#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/offered_annotations.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/meta/pool_table.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

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
