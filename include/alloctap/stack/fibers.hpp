/// Stacks that a program switches to by itself: what alloctap/annotate.hpp's `fiber_scope` adds.
#pragma once

#include <atomic>
#include <boost/intrusive/set.hpp>
#include <cstddef>
#include <cstdint>

#include "alloctap/annotate.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/no_destroy_lazy.hpp"
#include "alloctap/stack/stack_chain.hpp"

namespace alloctap {

/// The stacks of fibers, each from `add` to `remove`. Static; memory from the arena. Thread-safe,
/// safe around fork. `add` and `remove` not inside a hook.
class Fibers {
 public:
  /// Returns a number that no other fiber of this process ever has; nullptr where the system has no
  /// memory: captures on the fiber are then slow.
  [[nodiscard]] static void* add(const void* stack, std::size_t bytes) noexcept;

  /// `added` is what `add` returned, and no capture is on its stack any more. Does nothing where it
  /// was removed before, or never added here.
  static void remove(void* added) noexcept;

  /// The registered stack that `address` is on; nullptr where there is none. Runs inside malloc.
  [[nodiscard]] static StackChain* find(std::uintptr_t address) noexcept;

  /// Changes with each that comes or goes: what `find` said holds as long as this stays the same.
  [[nodiscard]] static std::uint64_t version() noexcept {
    return version_.load(std::memory_order_acquire);
  }

 private:
  template <class Tag>
  using Hook =
      boost::intrusive::set_base_hook<boost::intrusive::tag<Tag>,
                                      boost::intrusive::link_mode<boost::intrusive::normal_link>>;
  struct ByLowestAddress;
  struct ByNumber;

  struct Fiber : Hook<ByLowestAddress>, Hook<ByNumber> {
    StackChain chain;
    std::uintptr_t number = 0;
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
  struct ByNumber {
    bool operator()(std::uintptr_t number, const Fiber& fiber) const noexcept {
      return number < fiber.number;
    }
    bool operator()(const Fiber& fiber, std::uintptr_t number) const noexcept {
      return fiber.number < number;
    }
    bool operator()(const Fiber& one, const Fiber& other) const noexcept {
      return one.number < other.number;
    }
  };
  template <class Order>
  using Set = boost::intrusive::set<Fiber, boost::intrusive::compare<Order>,
                                    boost::intrusive::base_hook<Hook<Order>>,
                                    boost::intrusive::constant_time_size<false>>;

  /// A process may have several copies of these functions, as alloctap-run's and a program's own.
  static std::uintptr_t first_number() noexcept { return reinterpret_cast<std::uintptr_t>(&lock_); }

  static inline constinit FutexLock lock_;
  static inline constinit NoDestroyLazy<Set<ByLowestAddress>> fibers_;
  static inline constinit NoDestroyLazy<Set<ByNumber>> numbered_;
  static inline constinit std::uintptr_t added_ = 0;
  static inline constinit std::atomic<std::uint64_t> version_{0};
};

}  // namespace alloctap

/// The functions of fibers of annotate.h.
extern "C" ALLOCTAP_EXPORT inline constexpr alloctap_fiber_functions alloctap_fibers{
    .size = sizeof(alloctap_fiber_functions),
    .add = &alloctap::Fibers::add,
    .remove = &alloctap::Fibers::remove,
};

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/fibers.hpp"
#endif
