/// The functions behind the interposed ones of strings and of memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>

#include "alloctap/hook/strings/string_functions.hpp"
#include "alloctap/hook/strings/string_stand_ins.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/next_symbol.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Looked up all at once on the first call of any, which comes before constructors run: later a
/// thread that calls one for the first time may have to wait for the loader. Threads that do it at
/// the same time find the same.
template <class Sink>
class StringOriginals {
 public:
  /// Never null for a function that the C library has.
  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static typename Function::Signature* get() noexcept {
    auto* const original = original_<Function>.load(std::memory_order_relaxed);
    if (original != nullptr) [[likely]] {
      return original;
    }
    return find_first<Function>();
  }

  /// Whether a call came by since `forget_arrival` on a thread whose allocations are the tracker's
  /// own: how a hook sees that calls arrive here.
  static bool arrived() noexcept { return arrived_.load(std::memory_order_relaxed); }
  static void forget_arrival() noexcept { arrived_.store(false, std::memory_order_relaxed); }
  static void note_arrival() noexcept { arrived_.store(true, std::memory_order_relaxed); }

 private:
  /// On its way to the loader's tables a thread may come by here again.
  template <class Function>
  ALLOCTAP_NOINLINE static typename Function::Signature* find_first() noexcept {
    if constexpr (requires { StringStandIn<Function>::call; }) {
      if (UseInternalArena::active()) return &StringStandIn<Function>::call;
    }
    const UseInternalArena own;
    StringFunctions::for_each([](auto function) { find<decltype(function)>(); });
    return original_<Function>.load(std::memory_order_relaxed);
  }

  template <class Function>
  static void find() noexcept {
    using Signature = typename Function::Signature;
    original_<Function>.store(reinterpret_cast<Signature*>(os::next_symbol(Function::name)),
                              std::memory_order_relaxed);
  }

  template <class Function>
  static inline constinit std::atomic<typename Function::Signature*> original_{nullptr};
  static inline constinit std::atomic<bool> arrived_{false};
};

/// Whether the program's calls come by the handlers of `Sink`.
template <class Sink>
[[nodiscard]] bool string_calls_arrive() noexcept {
  void* (*volatile copy)(void*, const void*, std::size_t) = &std::memcpy;
  char from = 0;
  char to = 1;
  const UseInternalArena own;
  StringOriginals<Sink>::forget_arrival();
  copy(&to, &from, 1);
  return StringOriginals<Sink>::arrived();
}

}  // namespace alloctap
