/// Models of the functions that convert text to numbers (`string_shapes.hpp`).
#pragma once

#include <cstddef>
#include <cstdint>

namespace alloctap::string_shapes {

/// Models strtol and its relatives. They read up to the first character after the number. The end
/// of the number is known only after the call, so `run` makes the call itself.
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

/// Models strtof, strtod and wcstod.
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

/// Models atoi, atol and atoll.
template <class Result>
struct ReadsInteger {
  using Signature = Result(const char*);
  static void touch(const auto& look, const char* text) noexcept {
    look.text_until(text, SIZE_MAX, Ends{});
  }

 private:
  /// Predicate for the end of a number, which has white space, a sign and digits.
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

}  // namespace alloctap::string_shapes
