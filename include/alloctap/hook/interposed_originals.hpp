/// Real functions behind interposed ones, by RTLD_NEXT, and operators if there is no C++ library.
#pragma once

#include <atomic>
#include <cstddef>
#include <new>
#include <type_traits>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/hook/allocation_functions.hpp"
#include "alloctap/hook/program_operators.hpp"
#include "alloctap/hook/redirected_entry.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/futex.hpp"
#include "alloctap/os/loaded_images.hpp"
#include "alloctap/os/thread.hpp"
#include "alloctap/os/throw_bad_alloc.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Operator on top of malloc and free, for programs without a C++ library. `call` has the signature
/// of `Function`. `Originals` provides malloc, memalign and free. operator new calls the
/// new-handler in a loop ([new.delete.single]). Runs inside malloc.
template <class Function, class Originals, class Signature = typename Function::Signature>
struct FallbackOperator;

template <class Originals>
void* allocate_or_handle(std::size_t size, std::size_t alignment, bool nothrow) {
  const std::size_t least = size == 0 ? 1 : size;
  for (;;) {
    void* block = alignment == 0 ? Originals::template get<functions::Malloc>()(least)
                                 : Originals::template get<functions::Memalign>()(alignment, least);
    if (block != nullptr) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr && nothrow) return nullptr;
    if (handler == nullptr) os::throw_bad_alloc();
    handler();
  }
}

template <class Function, class Originals, class... Rest>
struct FallbackOperator<Function, Originals, void*(std::size_t, Rest...)> {
  static constexpr bool kNothrow = (std::is_same_v<Rest, const std::nothrow_t&> || ...);
  static void* call(std::size_t size, Rest... rest) noexcept(kNothrow) {
    const std::size_t alignment = Function::request(size, rest...).alignment;
    return allocate_or_handle<Originals>(size, alignment, kNothrow);
  }
};

template <class Function, class Originals, class... Rest>
struct FallbackOperator<Function, Originals, void(void*, Rest...)> {
  static void call(void* block, Rest...) noexcept {
    Originals::template get<functions::Free>()(block);
  }
};

/// Originals of the interposed functions. The first call of any hooked function looks up all
/// originals, before constructors run, then calls `Sink::on_first_call()` if it exists.
/// Thread-safe; runs inside malloc.
template <EventSink Sink>
class InterposedOriginals {
 public:
  /// `get` may return a bootstrap function, so handlers must recognize bootstrap blocks.
  static constexpr bool kHandsOutStandIns = true;

  /// Returns the original, never null. Returns a bootstrap function (`BootstrapCall`) while this
  /// thread looks up originals or allocates for the tracker.
  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static typename Function::Signature* get() {
    if (UseInternalArena::active()) [[unlikely]] {
      note_stand_in();
      return &BootstrapCall<Function>::call;
    }
    return get_outermost<Function>();
  }

  /// Variant of `get` for calls that hold neither a `ReentrancyGuard` nor a `UseInternalArena`.
  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static typename Function::Signature* get_outermost() {
    AnyFunction* original = original_<Function>.load(std::memory_order_acquire);
    if (original == nullptr) [[unlikely]] {
      original = find_all_and_load(original_<Function>);
    }
    return reinterpret_cast<typename Function::Signature*>(original);
  }

  static bool recording() noexcept { return recording_.load(std::memory_order_relaxed); }
  static void set_recording(bool on) noexcept { recording_.store(on, std::memory_order_release); }

  /// Returns true if `get` returned a bootstrap function since `forget_stand_in`. `install` uses
  /// the result to test that calls of malloc arrive here.
  static bool stand_in_used() noexcept { return stand_in_used_.load(std::memory_order_relaxed); }
  static void forget_stand_in() noexcept { stand_in_used_.store(false); }

  static void find_all_once() noexcept {
    if (found_.load(std::memory_order_acquire) != kFound) find_all();
  }

 private:
  static constexpr std::uint32_t kNotFound = 0;
  static constexpr std::uint32_t kSearching = 1;
  static constexpr std::uint32_t kFound = 2;

  /// Type-erased, so that the code that handles originals is instantiated once.
  using AnyFunction = void();
  using Slot = std::atomic<AnyFunction*>;

  ALLOCTAP_NOINLINE static void note_stand_in() noexcept {
    stand_in_used_.store(true, std::memory_order_relaxed);
  }

  ALLOCTAP_NOINLINE static AnyFunction* find_all_and_load(const Slot& slot) noexcept {
    find_all();
    return slot.load(std::memory_order_acquire);
  }

  ALLOCTAP_NOINLINE static void find_all() noexcept {
    std::uint32_t state = kNotFound;
    if (!found_.compare_exchange_strong(state, kSearching, std::memory_order_acquire)) {
      while (found_.load(std::memory_order_acquire) == kSearching)
        os::futex_wait(found_, kSearching);
      return;
    }
    {
      const UseInternalArena own;
      ProgramOperators::find();
      find_each(AllocationFunctions{});
    }
    found_.store(kFound, std::memory_order_release);
    os::futex_wake_all(found_);
    if constexpr (requires { Sink::on_first_call(); }) Sink::on_first_call();
  }

  template <class... Functions>
  static void find_each(FunctionList<Functions...>) noexcept {
    (find(Functions::name, original_<Functions>, substitute<Functions>()), ...);
  }

  /// Stores the address of `name` in the next module that defines `name`, else `substitute`.
  ALLOCTAP_NOINLINE static void find(const char* name, Slot& slot,
                                     AnyFunction* substitute) noexcept {
    auto* const original = reinterpret_cast<AnyFunction*>(os::next_symbol(name));
    slot.store(original == nullptr ? substitute : original, std::memory_order_release);
  }

  template <class Function>
  static AnyFunction* substitute() noexcept {
    if constexpr (requires { FallbackOperator<Function, InterposedOriginals>::call; } &&
                  Function::name[0] == '_') {
      return reinterpret_cast<AnyFunction*>(&FallbackOperator<Function, InterposedOriginals>::call);
    } else {
      return reinterpret_cast<AnyFunction*>(&BootstrapCall<Function>::call);
    }
  }

  template <class Function>
  static inline constinit Slot original_{nullptr};
  static inline constinit std::atomic<std::uint32_t> found_{kNotFound};
  static inline constinit std::atomic<bool> recording_{false};
  static inline constinit std::atomic<bool> stand_in_used_{false};
};

}  // namespace alloctap
