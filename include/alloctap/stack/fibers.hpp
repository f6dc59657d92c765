/// A registry of fiber stacks, which `fiber_scope` of alloctap/annotate.hpp fills.
#pragma once

#include <atomic>
#include <boost/intrusive/set.hpp>
#include <cstddef>
#include <cstdint>

#include "alloctap/annotate.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/futex_lock.hpp"
#include "alloctap/runtime/static_objects.hpp"
#include "alloctap/stack/cached_frame_chain.hpp"

namespace alloctap {

/// A process-wide registry of fiber stacks, so that captures on them can cache frames. All members
/// are static; entries are allocated in the arena. Thread-safe and fork-safe. `find` runs inside
/// malloc; call `add` and `remove` outside hooks only.
class Fibers {
 public:
  /// Registers a stack. Returns a handle that is unique in this process, or nullptr if out of
  /// memory. Captures on an unregistered stack are slow.
  [[nodiscard]] static void* add(const void* stack, std::size_t bytes) noexcept;

  /// Unregisters the stack of handle `added`. Precondition: no capture runs on that stack. Does
  /// nothing if `added` was removed before, or was added by another copy of this library.
  static void remove(void* added) noexcept;

  /// Returns the registered stack that contains `address`, or nullptr. Runs inside malloc.
  [[nodiscard]] static StackChain* find(std::uintptr_t address) noexcept;

  /// Returns a counter that `add` and `remove` increment. A result of `find` is valid while the
  /// counter is unchanged.
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
    /// Whether `fibers_` has this fiber, not another fiber with the same lowest address.
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

  /// Returns the first handle: an address, so that handles differ between copies of this library in
  /// one process, such as the copies in alloctap-run and in the program.
  static std::uintptr_t first_number() noexcept { return reinterpret_cast<std::uintptr_t>(&lock_); }

  static inline constinit FutexLock lock_;
  static inline constinit NoDestroyLazy<Set<ByLowestAddress>> fibers_;
  static inline constinit NoDestroyLazy<Set<ByNumber>> numbered_;
  static inline constinit std::uintptr_t added_ = 0;
  static inline constinit std::atomic<std::uint64_t> version_{0};
};

}  // namespace alloctap

/// The fiber functions that annotate.h calls.
extern "C" ALLOCTAP_EXPORT inline constexpr alloctap_fiber_functions alloctap_fibers{
    .size = sizeof(alloctap_fiber_functions),
    .add = &alloctap::Fibers::add,
    .remove = &alloctap::Fibers::remove,
};

#ifndef ALLOCTAP_COMPILED
#include "alloctap/stack/impl/fibers.hpp"
#endif
