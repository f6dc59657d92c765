/// Combines several observers into one.
#pragma once

#include "alloctap/annotate.h"
#include "alloctap/macros.hpp"
#include "alloctap/observe/observer.hpp"

namespace alloctap {

/// An observer that calls each observer in the listed order, inside malloc.
template <Observer... Each>
struct Observers {
  static constexpr bool kWantsOwners = (alloctap::kWantsOwners<Each> || ...);

  ALLOCTAP_ALWAYS_INLINE static void on_track(const ObservedBlock& block) noexcept {
    (Each::on_track(block), ...);
  }
  ALLOCTAP_ALWAYS_INLINE static void on_untrack(const ObservedBlock& block) noexcept {
    (Each::on_untrack(block), ...);
  }
  static void on_reallocate(const ObservedBlock& before, const ObservedBlock& after) noexcept
    requires(kObservesReallocations<Each> || ...)
  {
    (notify_realloc<Each>(before, after), ...);
  }
  static void on_map(const ObservedMapping& mapping) noexcept { (notify_map<Each>(mapping), ...); }
  static void on_unmap(const ObservedMapping& mapping) noexcept {
    (notify_unmap<Each>(mapping), ...);
  }
  template <class Snapshot>
  [[nodiscard]] static bool add_to(Snapshot& snapshot) noexcept {
    return (add_one_to<Each>(snapshot) && ...);
  }

  ALLOCTAP_ALWAYS_INLINE static const TimedCall* begin_timing(AllocatorCall call,
                                                              std::size_t bytes) noexcept
    requires(TimingObserver<Each> || ...)
  {
    const TimedCall* timed = nullptr;
    (begin_timing<Each>(call, bytes, timed), ...);
    return timed;
  }
  static void end_timing(const TimedCall& timed, StackOwner owner) noexcept
    requires(TimingObserver<Each> || ...)
  {
    (end_timing<Each>(timed, owner), ...);
  }

  static void on_start() noexcept { (notify_start<Each>(), ...); }
  static void on_stop() noexcept { (notify_stop<Each>(), ...); }
  static void offer(alloctap_slots& slots) noexcept { (let_offer<Each>(slots), ...); }

 private:
  static_assert((0 + ... + (TimingObserver<Each> ? 1 : 0)) <= 1,
                "of several observers, one alone may take the time of calls");

  template <class One>
  ALLOCTAP_ALWAYS_INLINE static void begin_timing(AllocatorCall call, std::size_t bytes,
                                                  const TimedCall*& timed) noexcept {
    if constexpr (TimingObserver<One>) timed = One::begin_timing(call, bytes);
  }
  template <class One>
  static void end_timing(const TimedCall& timed, StackOwner owner) noexcept {
    if constexpr (TimingObserver<One>) One::end_timing(timed, owner);
  }
  template <class One>
  static void notify_realloc(const ObservedBlock& before, const ObservedBlock& after) noexcept {
    if constexpr (kObservesReallocations<One>) One::on_reallocate(before, after);
  }
  template <class One>
  static void notify_start() noexcept {
    if constexpr (requires { One::on_start(); }) One::on_start();
  }
  template <class One>
  static void notify_stop() noexcept {
    if constexpr (requires { One::on_stop(); }) One::on_stop();
  }
  template <class One>
  static void let_offer(alloctap_slots& slots) noexcept {
    if constexpr (requires { One::offer(slots); }) One::offer(slots);
  }
  template <class One>
  static void notify_map(const ObservedMapping& mapping) noexcept {
    if constexpr (requires { One::on_map(mapping); }) One::on_map(mapping);
  }
  template <class One>
  static void notify_unmap(const ObservedMapping& mapping) noexcept {
    if constexpr (requires { One::on_unmap(mapping); }) One::on_unmap(mapping);
  }
  template <class One, class Snapshot>
  static bool add_one_to(Snapshot& snapshot) noexcept {
    if constexpr (requires { One::add_to(snapshot); }) return One::add_to(snapshot);
    return true;
  }
};

static_assert(Observer<Observers<>>);

}  // namespace alloctap
