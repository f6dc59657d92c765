/// Stacks that a program switches to by itself.
#pragma once

#include <atomic>
#include <boost/intrusive/set.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "alloctap/guard/futex_lock.hpp"
#include "alloctap/guard/late_construction.hpp"
#include "alloctap/guard/thread_state.hpp"
#include "alloctap/stack/stack_chain.hpp"

namespace alloctap {

/// Tells captures of stacks that `[stack, stack + bytes)` is the stack of a fiber (ucontext,
/// Boost.Context, a job system's) for as long as this object lives. Captures on it are then as fast
/// as on a thread's own stack. Without it they are right too, but slow: memory that may vanish has
/// to be read with care.
///
///     alloctap::fiber_scope scope{stack.memory(), stack.size()};
///
/// Make it before the fiber first runs, or first thing in it, and destroy it when the fiber runs no
/// more, before its memory is given back. The fiber may go from thread to thread. Thread-safe; not
/// to be used inside a hook.
class FiberScope : public boost::intrusive::set_base_hook<
                       boost::intrusive::link_mode<boost::intrusive::normal_link>> {
 public:
  FiberScope(const void* stack, std::size_t bytes) noexcept {
    chain_.bounds = {.low = reinterpret_cast<std::uintptr_t>(stack),
                     .high = reinterpret_cast<std::uintptr_t>(stack) + bytes};
    // A fork waits for the section, and so finds the lock free.
    const RecordingSection section;
    const std::lock_guard hold(lock_);
    registered_ = fibers_.get().insert(*this).second;
    version_.fetch_add(1, std::memory_order_release);
  }

  ~FiberScope() {
    const RecordingSection section;
    const std::lock_guard hold(lock_);
    if (registered_) fibers_.get().erase(fibers_.get().iterator_to(*this));
    version_.fetch_add(1, std::memory_order_release);
    chain_.chain.release();
  }

  FiberScope(const FiberScope&) = delete;
  FiberScope& operator=(const FiberScope&) = delete;

  /// The registered stack that `address` is on; nullptr where there is none. Runs inside malloc.
  [[nodiscard]] static StackChain* find(std::uintptr_t address) noexcept {
    const std::lock_guard hold(lock_);
    auto after = fibers_.get().upper_bound(address, ByLowestAddress{});
    if (after == fibers_.get().begin()) return nullptr;
    FiberScope& below = *--after;
    return below.chain_.bounds.contains(address) ? &below.chain_ : nullptr;
  }

  /// Changes with every registration: what `find` said holds as long as this stays the same.
  [[nodiscard]] static std::uint64_t version() noexcept {
    return version_.load(std::memory_order_acquire);
  }

 private:
  struct ByLowestAddress {
    bool operator()(std::uintptr_t address, const FiberScope& fiber) const noexcept {
      return address < fiber.chain_.bounds.low;
    }
    bool operator()(const FiberScope& fiber, std::uintptr_t address) const noexcept {
      return fiber.chain_.bounds.low < address;
    }
    bool operator()(const FiberScope& one, const FiberScope& other) const noexcept {
      return one.chain_.bounds.low < other.chain_.bounds.low;
    }
  };
  using Fibers = boost::intrusive::set<FiberScope, boost::intrusive::compare<ByLowestAddress>,
                                       boost::intrusive::constant_time_size<false>>;

  StackChain chain_;
  bool registered_ = false;

  static inline constinit FutexLock lock_;
  static inline constinit LateConstruction<Fibers> fibers_;
  static inline constinit std::atomic<std::uint64_t> version_{0};
};

using fiber_scope = FiberScope;

}  // namespace alloctap
