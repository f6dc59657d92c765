/// Combines several observers into one.
#pragma once

#include "alloctap/annotate.h"
#include "alloctap/macros.hpp"
#include "alloctap/observe/observer.hpp"

namespace alloctap {

/// An observer that calls each observer in the listed order, inside malloc.
template <Observer... Each>
struct Observers {
  static_assert((CheckedObserver<Each>::ok && ...));
  static_assert((0 + ... + (kObserverFeatures<Each>.begin_timing ? 1 : 0)) <= 1,
                "of several observers, one alone may take the time of calls");

  static constexpr ObserverFeatures features{
      .on_start = (kObserverFeatures<Each>.on_start || ...),
      .on_stop = (kObserverFeatures<Each>.on_stop || ...),
      .on_map = (kObserverFeatures<Each>.on_map || ...),
      .on_unmap = (kObserverFeatures<Each>.on_unmap || ...),
      .on_reallocate = (kObserverFeatures<Each>.on_reallocate || ...),
      .begin_timing = (kObserverFeatures<Each>.begin_timing || ...),
      .add_to = (kObserverFeatures<Each>.add_to || ...),
      .offer = (kObserverFeatures<Each>.offer || ...),
      .wants_owners = (kObserverFeatures<Each>.wants_owners || ...)};

  ALLOCTAP_ALWAYS_INLINE static void on_track(const ObservedBlock& block) noexcept {
    (Each::on_track(block), ...);
  }
  ALLOCTAP_ALWAYS_INLINE static void on_untrack(const ObservedBlock& block) noexcept {
    (Each::on_untrack(block), ...);
  }
  static void on_reallocate(const ObservedBlock& before, const ObservedBlock& after) noexcept
    requires(features.on_reallocate)
  {
    const auto notify = [&]<class One>(Listed<One>) {
      if constexpr (kObserverFeatures<One>.on_reallocate) One::on_reallocate(before, after);
    };
    (notify(Listed<Each>()), ...);
  }
  static void on_map(const ObservedMapping& mapping) noexcept
    requires(features.on_map)
  {
    const auto notify = [&]<class One>(Listed<One>) {
      if constexpr (kObserverFeatures<One>.on_map) One::on_map(mapping);
    };
    (notify(Listed<Each>()), ...);
  }
  static void on_unmap(const ObservedMapping& mapping) noexcept
    requires(features.on_unmap)
  {
    const auto notify = [&]<class One>(Listed<One>) {
      if constexpr (kObserverFeatures<One>.on_unmap) One::on_unmap(mapping);
    };
    (notify(Listed<Each>()), ...);
  }
  template <class Snapshot>
  [[nodiscard]] static bool add_to(Snapshot& snapshot) noexcept
    requires(features.add_to)
  {
    return (add_one_to<Each>(snapshot) && ...);
  }

  ALLOCTAP_ALWAYS_INLINE static const TimedCall* begin_timing(AllocatorCall call,
                                                              std::size_t bytes) noexcept
    requires(features.begin_timing)
  {
    const TimedCall* timed = nullptr;
    (begin_timing<Each>(call, bytes, timed), ...);
    return timed;
  }
  static void end_timing(const TimedCall& timed, StackOwner owner) noexcept
    requires(features.begin_timing)
  {
    (end_timing<Each>(timed, owner), ...);
  }

  static void on_start() noexcept
    requires(features.on_start)
  {
    const auto notify = []<class One>(Listed<One>) {
      if constexpr (kObserverFeatures<One>.on_start) One::on_start();
    };
    (notify(Listed<Each>()), ...);
  }
  static void on_stop() noexcept
    requires(features.on_stop)
  {
    const auto notify = []<class One>(Listed<One>) {
      if constexpr (kObserverFeatures<One>.on_stop) One::on_stop();
    };
    (notify(Listed<Each>()), ...);
  }
  static void offer(alloctap_slots& slots) noexcept
    requires(features.offer)
  {
    const auto let_offer = [&]<class One>(Listed<One>) {
      if constexpr (kObserverFeatures<One>.offer) One::offer(slots);
    };
    (let_offer(Listed<Each>()), ...);
  }

 private:
  /// Passes the type of an observer to a lambda.
  template <class One>
  struct Listed {};

  template <class One>
  ALLOCTAP_ALWAYS_INLINE static void begin_timing(AllocatorCall call, std::size_t bytes,
                                                  const TimedCall*& timed) noexcept {
    if constexpr (kObserverFeatures<One>.begin_timing) timed = One::begin_timing(call, bytes);
  }
  template <class One>
  static void end_timing(const TimedCall& timed, StackOwner owner) noexcept {
    if constexpr (kObserverFeatures<One>.begin_timing) One::end_timing(timed, owner);
  }
  template <class One, class Snapshot>
  static bool add_one_to(Snapshot& snapshot) noexcept {
    if constexpr (kObserverFeatures<One>.add_to) return One::add_to(snapshot);
    return true;
  }
};

static_assert(Observer<Observers<>>);

}  // namespace alloctap
