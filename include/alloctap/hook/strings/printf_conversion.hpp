/// Parser for one conversion specification of a printf format.
#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace alloctap {

/// Type of a conversion's argument.
enum class PrintfKind {
  kUnknown,
  kNothing,  ///< %% and %m
  kInteger,
  kReal,
  kPointer,
  kCount,  ///< %n: pointer to the count of printed characters
  kText,
  kWideText,
};

/// A conversion specification (C11 7.21.6.1), with glibc's extensions: flags ' and I, %m, %C, %S,
/// lengths q and Z.
template <class C>
class PrintfConversion {
 public:
  /// `at` points after the percent sign; `end` is the end of the format.
  PrintfConversion(const C* at, const C* end) noexcept : at_(at), end_(end) {}

  /// Returns the position after the specification. Calls `next_int()` for the value of a `*`.
  const C* read(auto&& next_int) noexcept {
    while (is_one_of("-+ #0'I")) ++at_;
    read_number(next_int);
    if (is_one_of(".")) {
      ++at_;
      precision_ = read_number(next_int);
    }
    read_length();
    kind_ = at_ < end_ ? kind_of(*at_++) : PrintfKind::kUnknown;
    return at_;
  }

  [[nodiscard]] PrintfKind kind() const noexcept { return kind_; }
  /// Returns the precision in characters; negative if the specification has no precision.
  [[nodiscard]] int precision() const noexcept { return precision_; }
  /// Returns the size of the integer that %n writes, or that is printed (passed as int if smaller).
  [[nodiscard]] std::size_t value_bytes() const noexcept { return value_bytes_; }
  [[nodiscard]] bool is_long_double() const noexcept { return is_long_double_; }

 private:
  [[nodiscard]] static bool is_in(std::string_view set, C letter) noexcept {
    return std::any_of(set.begin(), set.end(),
                       [letter](char c) { return letter == static_cast<C>(c); });
  }
  [[nodiscard]] bool is_one_of(std::string_view set) const noexcept {
    return at_ < end_ && is_in(set, *at_);
  }

  /// Returns the number at the current position; 0 if it is missing, as in printf.
  int read_number(auto&& next_int) noexcept {
    if (is_one_of("*")) {
      ++at_;
      return next_int();
    }
    int number = 0;
    for (; is_one_of("0123456789"); ++at_) {
      const int digit = static_cast<int>(*at_ - C{'0'});
      number = number > (INT_MAX - digit) / 10 ? INT_MAX : number * 10 + digit;
    }
    return number;
  }

  void read_length() noexcept {
    const bool is_short = is_one_of("h");
    const C first = at_ < end_ ? *at_ : C{};
    if (!is_one_of("hlLqjzZt")) return;
    ++at_;
    is_long_double_ = first == C{'L'};
    is_wide_ = first == C{'l'};
    value_bytes_ = is_short ? sizeof(short) : bytes_of(first);
    if (at_ < end_ && *at_ == first && is_one_of("hl")) {
      ++at_;
      value_bytes_ = is_short ? sizeof(char) : sizeof(long long);
    }
  }

  [[nodiscard]] static std::size_t bytes_of(C length) noexcept {
    if (length == C{'l'}) return sizeof(long);
    if (length == C{'z'} || length == C{'Z'}) return sizeof(std::size_t);
    if (length == C{'t'}) return sizeof(std::ptrdiff_t);
    return length == C{'j'} ? sizeof(std::intmax_t) : sizeof(long long);
  }

  [[nodiscard]] PrintfKind kind_of(C letter) noexcept {
    const bool is_character = is_in("cC", letter);
    if (is_character) value_bytes_ = sizeof(int);
    if (is_character || is_in("diouxXbB", letter)) return PrintfKind::kInteger;
    if (is_in("aAeEfFgG", letter)) return PrintfKind::kReal;
    if (letter == C{'s'}) return is_wide_ ? PrintfKind::kWideText : PrintfKind::kText;
    if (letter == C{'S'}) return PrintfKind::kWideText;
    if (letter == C{'p'}) return PrintfKind::kPointer;
    if (letter == C{'n'}) return PrintfKind::kCount;
    return letter == C{'%'} || letter == C{'m'} ? PrintfKind::kNothing : PrintfKind::kUnknown;
  }

  const C* at_;
  const C* end_;
  PrintfKind kind_ = PrintfKind::kUnknown;
  int precision_ = -1;
  std::size_t value_bytes_ = sizeof(int);
  bool is_long_double_ = false;
  bool is_wide_ = false;
};

}  // namespace alloctap
