/// The functions behind the interposed ones.
#pragma once

#include <atomic>
#include <type_traits>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/guard/reentrancy_guard.hpp"
#include "alloctap/hook/allocation_functions.hpp"
#include "alloctap/hook/bootstrap_calls.hpp"
#include "alloctap/hook/fallback_operators.hpp"
#include "alloctap/hook/program_operators.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/futex.hpp"
#include "alloctap/os/next_symbol.hpp"
#include "alloctap/os/thread.hpp"

namespace alloctap {

/// Finds the originals on the first call of any of them, which comes before constructors run.
/// `Sink::on_first_call`, where there is one, follows.
template <EventSink Sink>
class InterposedOriginals {
 public:
  /// Never null: the original, or a stand-in while originals are looked up and while this thread's
  /// allocations are the tracker's own.
  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static typename Function::Signature* get() {
    if (OwnAllocations::active()) [[unlikely]] {
      return stand_in<Function>();
    }
    return get_outermost<Function>();
  }

  /// The same for a call below no `ReentrancyGuard`, and so below no `OwnAllocations`.
  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static typename Function::Signature* get_outermost() {
    auto* original = original_<Function>.load(std::memory_order_acquire);
    if (original == nullptr) [[unlikely]] {
      find_all();
      original = original_<Function>.load(std::memory_order_acquire);
    }
    return original;
  }

  static bool recording() noexcept { return recording_.load(std::memory_order_relaxed); }
  static void set_recording(bool on) noexcept { recording_.store(on, std::memory_order_release); }

  /// Whether a stand-in was asked for since `forget_stand_in`: how `install` sees that calls of
  /// malloc arrive here.
  static bool stand_in_used() noexcept { return stand_in_used_.load(std::memory_order_relaxed); }
  static void forget_stand_in() noexcept { stand_in_used_.store(false); }

  /// Looks the originals up unless that was done.
  static void find_all_once() noexcept {
    if (found_.load(std::memory_order_acquire) != kFound) find_all();
  }

 private:
  static constexpr std::uint32_t kNotFound = 0;
  static constexpr std::uint32_t kSearching = 1;
  static constexpr std::uint32_t kFound = 2;

  template <class Function>
  ALLOCTAP_NOINLINE static typename Function::Signature* stand_in() noexcept {
    stand_in_used_.store(true, std::memory_order_relaxed);
    return &BootstrapCall<Function>::call;
  }

  ALLOCTAP_NOINLINE static void find_all() noexcept {
    std::uint32_t state = kNotFound;
    if (!found_.compare_exchange_strong(state, kSearching, std::memory_order_acquire)) {
      while (found_.load(std::memory_order_acquire) == kSearching)
        os::futex_wait(found_, kSearching);
      return;
    }
    {
      const OwnAllocations own;
      ProgramOperators::find();
      AllocationFunctions::for_each([](auto function) { find<decltype(function)>(); });
    }
    found_.store(kFound, std::memory_order_release);
    os::futex_wake_all(found_);
    if constexpr (requires { Sink::on_first_call(); }) Sink::on_first_call();
  }

  template <class Function>
  static void find() noexcept {
    using Signature = typename Function::Signature;
    auto* original = reinterpret_cast<Signature*>(os::next_symbol(Function::name));
    if (original == nullptr) original = substitute<Function>();
    original_<Function>.store(original, std::memory_order_release);
  }

  /// For what no module behind this one defines.
  template <class Function>
  static typename Function::Signature* substitute() noexcept {
    if constexpr (requires { FallbackOperator<Function, InterposedOriginals>::call; } &&
                  Function::name[0] == '_') {
      return &FallbackOperator<Function, InterposedOriginals>::call;
    } else {
      return &BootstrapCall<Function>::call;
    }
  }

  template <class Function>
  static inline constinit std::atomic<typename Function::Signature*> original_{nullptr};
  static inline constinit std::atomic<std::uint32_t> found_{kNotFound};
  static inline constinit std::atomic<bool> recording_{false};
  static inline constinit std::atomic<bool> stand_in_used_{false};
};

}  // namespace alloctap
