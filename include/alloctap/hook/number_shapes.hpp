/// What functions read and write that make numbers of texts, and texts of values; as
/// `string_shapes.hpp`. How far they go is known when they return.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

namespace alloctap::string_shapes {

/// strtol: to the first character that is of no number. `run` makes the call.
template <class C, class Result>
struct ParsesInteger {
  using Signature = Result(const C*, C**, int);
  static Result run(const auto* look, Signature* original, const C* text, C** end,
                    int base) noexcept {
    C* stop = const_cast<C*>(text);
    const Result result = original(text, &stop, base);
    if (look != nullptr) look->read(text, static_cast<std::size_t>(stop - text + 1) * sizeof(C));
    if (end != nullptr) *end = stop;
    return result;
  }
};

/// strtod.
template <class C, class Result>
struct ParsesReal {
  using Signature = Result(const C*, C**);
  static Result run(const auto* look, Signature* original, const C* text, C** end) noexcept {
    C* stop = const_cast<C*>(text);
    const Result result = original(text, &stop);
    if (look != nullptr) look->read(text, static_cast<std::size_t>(stop - text + 1) * sizeof(C));
    if (end != nullptr) *end = stop;
    return result;
  }
};

/// atoi.
template <class Result>
struct ReadsInteger {
  using Signature = Result(const char*);
  static void touch(const auto& look, const char* text) noexcept {
    look.text_until(text, SIZE_MAX, Ends{});
  }

 private:
  /// Tells what ends a number: white space, then a sign, then digits.
  struct Ends {
    bool began = false;
    bool operator()(char c) noexcept {
      const bool is_digit = c >= '0' && c <= '9';
      const bool is_space = c == ' ' || (c >= '\t' && c <= '\r');
      const bool goes_on = is_digit || (!began && (is_space || c == '+' || c == '-'));
      began = began || !is_space;
      return !goes_on;
    }
  };
};

/// vsprintf. `touch_after` follows the call, whose result it gets first.
struct PrintsText {
  using Signature = int(char*, const char*, std::va_list);
  static void touch_after(const auto& look, int result, char* to, const char*,
                          std::va_list) noexcept {
    if (result >= 0) look.write(to, static_cast<std::size_t>(result) + 1);
  }
};

/// vsnprintf.
struct PrintsTextUpTo {
  using Signature = int(char*, std::size_t, const char*, std::va_list);
  static void touch_after(const auto& look, int result, char* to, std::size_t most, const char*,
                          std::va_list) noexcept {
    if (result >= 0) look.write(to, std::min(static_cast<std::size_t>(result) + 1, most));
  }
};

/// vswprintf, which fails where there is no room, and has filled what there was.
struct PrintsWideTextUpTo {
  using Signature = int(wchar_t*, std::size_t, const wchar_t*, std::va_list);
  static void touch_after(const auto& look, int result, wchar_t* to, std::size_t most,
                          const wchar_t*, std::va_list) noexcept {
    const std::size_t count = result >= 0 ? static_cast<std::size_t>(result) + 1 : most;
    look.write(to, std::min(count, most) * sizeof(wchar_t));
  }
};

/// __vsprintf_chk.
struct PrintsFortifiedText {
  using Signature = int(char*, int, std::size_t, const char*, std::va_list);
  static void touch_after(const auto& look, int result, char* to, int, std::size_t, const char*,
                          std::va_list) noexcept {
    if (result >= 0) look.write(to, static_cast<std::size_t>(result) + 1);
  }
};

/// __vsnprintf_chk.
struct PrintsFortifiedTextUpTo {
  using Signature = int(char*, std::size_t, int, std::size_t, const char*, std::va_list);
  static void touch_after(const auto& look, int result, char* to, std::size_t most, int,
                          std::size_t, const char*, std::va_list) noexcept {
    if (result >= 0) look.write(to, std::min(static_cast<std::size_t>(result) + 1, most));
  }
};

}  // namespace alloctap::string_shapes
