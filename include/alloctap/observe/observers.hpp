/// Several observers as one.
#pragma once

#include "alloctap/macros.hpp"
#include "alloctap/observe/observer.hpp"

namespace alloctap {

/// Each is told, in their order; at the end of a block too.
template <Observer... Each>
struct Observers {
  ALLOCTAP_ALWAYS_INLINE static void on_track(const ObservedBlock& block) noexcept {
    (Each::on_track(block), ...);
  }
  ALLOCTAP_ALWAYS_INLINE static void on_untrack(const ObservedBlock& block) noexcept {
    (Each::on_untrack(block), ...);
  }
  static void on_reallocate(const ObservedBlock& before, const ObservedBlock& after) noexcept
    requires(kObservesReallocations<Each> || ...)
  {
    (tell_reallocation<Each>(before, after), ...);
  }
  static void on_map(const ObservedMapping& mapping) noexcept { (tell_map<Each>(mapping), ...); }
  static void on_unmap(const ObservedMapping& mapping) noexcept {
    (tell_unmap<Each>(mapping), ...);
  }

  static void on_start() noexcept { (tell_start<Each>(), ...); }
  static void on_stop() noexcept { (tell_stop<Each>(), ...); }

 private:
  template <class One>
  static void tell_reallocation(const ObservedBlock& before, const ObservedBlock& after) noexcept {
    if constexpr (kObservesReallocations<One>) One::on_reallocate(before, after);
  }
  template <class One>
  static void tell_start() noexcept {
    if constexpr (requires { One::on_start(); }) One::on_start();
  }
  template <class One>
  static void tell_stop() noexcept {
    if constexpr (requires { One::on_stop(); }) One::on_stop();
  }
  template <class One>
  static void tell_map(const ObservedMapping& mapping) noexcept {
    if constexpr (requires { One::on_map(mapping); }) One::on_map(mapping);
  }
  template <class One>
  static void tell_unmap(const ObservedMapping& mapping) noexcept {
    if constexpr (requires { One::on_unmap(mapping); }) One::on_unmap(mapping);
  }
};

static_assert(Observer<Observers<>>);

}  // namespace alloctap
