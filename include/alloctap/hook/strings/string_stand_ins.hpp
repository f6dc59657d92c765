/// Replacements for memory and string functions while the originals are looked up.
#pragma once

#include <cstddef>

#include "alloctap/hook/strings/string_functions.hpp"
#include "alloctap/hook/strings/text_scan.hpp"

namespace alloctap {

/// `call` has the signature of `Function`. Only functions that compilers call implicitly: the
/// tracker's look-up code may use them.
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

}  // namespace alloctap
