/// Original string and memory functions behind the interposed ones. May run inside malloc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>

#include "alloctap/hook/strings/string_access_checker.hpp"
#include "alloctap/hook/strings/string_functions.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/loaded_images.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Substitute for `Function` during look-ups; `call` has the signature of `Function`. Exists only
/// for functions that compilers call implicitly, because look-up code may use them.
template <class Function>
struct StringStandIn;

template <>
struct StringStandIn<StringFunctionNamed<"memcpy">> {
  static void* call(void* to, const void* from, std::size_t bytes) noexcept {
    for (std::size_t i = 0; i < bytes; ++i) {
      stay_a_loop();
      static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
    }
    return to;
  }
};

template <>
struct StringStandIn<StringFunctionNamed<"memmove">> {
  static void* call(void* to, const void* from, std::size_t bytes) noexcept {
    using Forward = StringStandIn<StringFunctionNamed<"memcpy">>;
    if (to <= from) return Forward::call(to, from, bytes);
    for (std::size_t i = bytes; i > 0; --i) {
      stay_a_loop();
      static_cast<char*>(to)[i - 1] = static_cast<const char*>(from)[i - 1];
    }
    return to;
  }
};

template <>
struct StringStandIn<StringFunctionNamed<"memset">> {
  static void* call(void* to, int value, std::size_t bytes) noexcept {
    for (std::size_t i = 0; i < bytes; ++i) {
      stay_a_loop();
      static_cast<char*>(to)[i] = static_cast<char>(value);
    }
    return to;
  }
};

template <>
struct StringStandIn<StringFunctionNamed<"memcmp">> {
  static int call(const void* a, const void* b, std::size_t bytes) noexcept {
    for (std::size_t i = 0; i < bytes; ++i) {
      stay_a_loop();
      const int left = static_cast<const unsigned char*>(a)[i];
      const int right = static_cast<const unsigned char*>(b)[i];
      if (left != right) return left - right;
    }
    return 0;
  }
};

template <>
struct StringStandIn<StringFunctionNamed<"strlen">> {
  static std::size_t call(const char* text) noexcept {
    return scan_text(text, SIZE_MAX, [](char) { return false; }).length;
  }
};

/// Originals, all looked up on the first call of any string function, before constructors run. A
/// later look-up could wait for the loader's lock. Concurrent look-ups store equal addresses, so no
/// lock is needed.
template <class Sink>
class StringOriginals {
 public:
  /// Never returns null for a function that the C library defines.
  template <class Function>
  ALLOCTAP_ALWAYS_INLINE static typename Function::Signature* get() noexcept {
    auto* const original = original_<Function>.load(std::memory_order_relaxed);
    if (original != nullptr) [[likely]] {
      return original;
    }
    return find_first<Function>();
  }

  /// Returns true if the tracker itself called a hooked function since `forget_arrival`. `install`
  /// uses this to test that calls of string functions arrive here.
  static bool arrived() noexcept { return arrived_.load(std::memory_order_relaxed); }
  static void forget_arrival() noexcept { arrived_.store(false, std::memory_order_relaxed); }
  static void note_arrival() noexcept { arrived_.store(true, std::memory_order_relaxed); }

 private:
  /// Looks up all functions. Recursive calls during the look-up get a `StringStandIn`.
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

/// Returns true if a call of memcpy reaches the handlers of `Sink`.
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
