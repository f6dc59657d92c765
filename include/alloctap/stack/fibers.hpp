/// Stacks that a program switches to by itself: what alloctap/annotate.hpp's `fiber_scope` adds.
#pragma once

#include <atomic>
#include <boost/intrusive/set.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include "alloctap/annotate.hpp"
#include "alloctap/guard/arena.hpp"
#include "alloctap/guard/futex_lock.hpp"
#include "alloctap/guard/late_construction.hpp"
#include "alloctap/guard/thread_state.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/stack/stack_chain.hpp"

namespace alloctap {

/// The stacks of fibers, each from `add` to `remove`. Static; memory from the arena. Thread-safe,
/// safe around fork. `add` and `remove` not inside a hook.
class Fibers {
 public:
  /// nullptr where the system has no memory: captures on the fiber are then slow.
  [[nodiscard]] static void* add(const void* stack, std::size_t bytes) noexcept {
    void* const memory = Arena::allocate(sizeof(Fiber));
    if (memory == nullptr) return nullptr;
    auto* const fiber = ::new (memory) Fiber;
    fiber->chain.bounds = {.low = reinterpret_cast<std::uintptr_t>(stack),
                           .high = reinterpret_cast<std::uintptr_t>(stack) + bytes};
    // A fork waits for the section, and so finds the lock free.
    const RecordingSection section;
    const std::lock_guard hold(lock_);
    fiber->is_first = fibers_.get().insert(*fiber).second;
    version_.fetch_add(1, std::memory_order_release);
    return fiber;
  }

  /// `added` is what `add` returned, and no capture is on its stack any more.
  static void remove(void* added) noexcept {
    auto* const fiber = static_cast<Fiber*>(added);
    {
      const RecordingSection section;
      const std::lock_guard hold(lock_);
      if (fiber->is_first) fibers_.get().erase(fibers_.get().iterator_to(*fiber));
      version_.fetch_add(1, std::memory_order_release);
      fiber->chain.chain.release();
    }
    fiber->~Fiber();
    Arena::deallocate(fiber, sizeof(Fiber));
  }

  /// The registered stack that `address` is on; nullptr where there is none. Runs inside malloc.
  [[nodiscard]] static StackChain* find(std::uintptr_t address) noexcept {
    const std::lock_guard hold(lock_);
    auto after = fibers_.get().upper_bound(address, ByLowestAddress{});
    if (after == fibers_.get().begin()) return nullptr;
    Fiber& below = *--after;
    return below.chain.bounds.contains(address) ? &below.chain : nullptr;
  }

  /// Changes with each that comes or goes: what `find` said holds as long as this stays the same.
  [[nodiscard]] static std::uint64_t version() noexcept {
    return version_.load(std::memory_order_acquire);
  }

 private:
  struct Fiber : boost::intrusive::set_base_hook<
                     boost::intrusive::link_mode<boost::intrusive::normal_link>> {
    StackChain chain;
    /// Of those that begin at one address.
    bool is_first = false;
  };

  struct ByLowestAddress {
    bool operator()(std::uintptr_t address, const Fiber& fiber) const noexcept {
      return address < fiber.chain.bounds.low;
    }
    bool operator()(const Fiber& fiber, std::uintptr_t address) const noexcept {
      return fiber.chain.bounds.low < address;
    }
    bool operator()(const Fiber& one, const Fiber& other) const noexcept {
      return one.chain.bounds.low < other.chain.bounds.low;
    }
  };
  using Set = boost::intrusive::set<Fiber, boost::intrusive::compare<ByLowestAddress>,
                                    boost::intrusive::constant_time_size<false>>;

  static inline constinit FutexLock lock_;
  static inline constinit LateConstruction<Set> fibers_;
  static inline constinit std::atomic<std::uint64_t> version_{0};
};

}  // namespace alloctap

/// The functions of fibers of annotate.h.
extern "C" ALLOCTAP_EXPORT inline constexpr alloctap_fiber_functions alloctap_fibers{
    .size = sizeof(alloctap_fiber_functions),
    .add = &alloctap::Fibers::add,
    .remove = &alloctap::Fibers::remove,
};
