/// Models of the printf family, and the parser of formats that finds the strings a call reads.
///
/// A model (`string_shapes.hpp`) with an output buffer has `touch_before(look, arguments...)`,
/// which runs before the call. Its `touch_after(look, result, arguments...)` runs afterwards, when
/// the printed length is known.
#pragma once

#include <algorithm>
#include <climits>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <type_traits>

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
  /// Returns the size in bytes of the integer that %n writes or another conversion prints. An
  /// integer smaller than int is passed as int.
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

/// Parser of the format of `C` characters and the va_list of a printf call. Runs before the call,
/// and checks the strings that the call reads (C11 7.21.6.1 and 7.29.2.1). Does not check a string
/// with a precision that is converted between char and wchar_t, because its length cannot be
/// predicted. Stops at an unknown conversion, which the program may have registered, or at a
/// conversion that numbers its argument (%1$s).
template <class Look, class C>
class PrintedTexts {
 public:
  /// Checks the format and the strings that a call prints. Does not advance `values`.
  static void check_access(const Look& look, const C* format, std::va_list values) noexcept {
    if (format == nullptr) return;
    look.text(format);
    PrintedTexts texts(look, values);
    texts.walk(format, format + look.length_of(format));
  }

  PrintedTexts(const PrintedTexts&) = delete;
  PrintedTexts& operator=(const PrintedTexts&) = delete;

 private:
  PrintedTexts(const Look& look, std::va_list values) noexcept : look_(look) {
    va_copy(values_, values);
  }
  ~PrintedTexts() { va_end(values_); }

  void walk(const C* at, const C* end) noexcept {
    while (at < end) {
      if (*at++ != C{'%'}) continue;
      PrintfConversion<C> conversion(at, end);
      const auto next_int = [this]() noexcept { return va_arg(values_, int); };
      at = conversion.read(next_int);
      if (!take_value(conversion)) return;
    }
  }

  /// Reads the conversion's argument. Returns false if its type is unknown.
  bool take_value(const PrintfConversion<C>& conversion) noexcept {
    switch (conversion.kind()) {
      case PrintfKind::kNothing:
        return true;
      case PrintfKind::kInteger:
        take_integer(conversion.value_bytes());
        return true;
      case PrintfKind::kReal:
        take_real(conversion.is_long_double());
        return true;
      case PrintfKind::kPointer:
        static_cast<void>(va_arg(values_, const void*));
        return true;
      case PrintfKind::kCount:
        look_.write(va_arg(values_, void*), conversion.value_bytes());
        return true;
      case PrintfKind::kText:
        check_text(va_arg(values_, const char*), conversion.precision());
        return true;
      case PrintfKind::kWideText:
        check_text(va_arg(values_, const wchar_t*), conversion.precision());
        return true;
      case PrintfKind::kUnknown:
        break;
    }
    return false;
  }

  void take_integer(std::size_t bytes) noexcept {
    if (bytes == sizeof(std::int64_t)) {
      static_cast<void>(va_arg(values_, std::int64_t));
    } else {
      static_cast<void>(va_arg(values_, int));
    }
  }

  void take_real(bool is_long_double) noexcept {
    if (is_long_double) {
      static_cast<void>(va_arg(values_, long double));
    } else {
      static_cast<void>(va_arg(values_, double));
    }
  }

  template <class Text>
  void check_text(const Text* text, int precision) noexcept {
    if (text == nullptr) return;  // Printed as (null).
    if (precision < 0) {
      look_.text(text);
    } else if (std::is_same_v<Text, C>) {
      look_.text(text, static_cast<std::size_t>(precision));
    }
  }

  const Look& look_;
  std::va_list values_;
};

}  // namespace alloctap

namespace alloctap::string_shapes {

template <class Look, class C>
void check_printed(const Look& look, const C* format, std::va_list values) noexcept {
  PrintedTexts<Look, C>::check_access(look, format, values);
}

/// Models vsprintf.
struct PrintsText {
  using Signature = int(char*, const char*, std::va_list);
  static void touch_before(const auto& look, char*, const char* format,
                           std::va_list values) noexcept {
    check_printed(look, format, values);
  }
  static void touch_after(const auto& look, int result, char* to, const char*,
                          std::va_list) noexcept {
    if (result >= 0) look.write(to, static_cast<std::size_t>(result) + 1);
  }
};

/// Models vsnprintf.
struct PrintsTextUpTo {
  using Signature = int(char*, std::size_t, const char*, std::va_list);
  static void touch_before(const auto& look, char*, std::size_t, const char* format,
                           std::va_list values) noexcept {
    check_printed(look, format, values);
  }
  static void touch_after(const auto& look, int result, char* to, std::size_t most, const char*,
                          std::va_list) noexcept {
    if (result >= 0) look.write(to, std::min(static_cast<std::size_t>(result) + 1, most));
  }
};

/// Models vswprintf, which fills the buffer and fails if the text does not fit.
struct PrintsWideTextUpTo {
  using Signature = int(wchar_t*, std::size_t, const wchar_t*, std::va_list);
  static void touch_before(const auto& look, wchar_t*, std::size_t, const wchar_t* format,
                           std::va_list values) noexcept {
    check_printed(look, format, values);
  }
  static void touch_after(const auto& look, int result, wchar_t* to, std::size_t most,
                          const wchar_t*, std::va_list) noexcept {
    const std::size_t count = result >= 0 ? static_cast<std::size_t>(result) + 1 : most;
    look.write(to, std::min(count, most) * sizeof(wchar_t));
  }
};

/// Models vasprintf, which allocates the text.
struct PrintsNewText {
  using Signature = int(char**, const char*, std::va_list);
  static void touch(const auto& look, char** to, const char* format, std::va_list values) noexcept {
    look.write(to, sizeof(*to));
    check_printed(look, format, values);
  }
};

/// Models vprintf and vwprintf.
template <class C>
struct Prints {
  using Signature = int(const C*, std::va_list);
  static void touch(const auto& look, const C* format, std::va_list values) noexcept {
    check_printed(look, format, values);
  }
};

/// Models vfprintf and vfwprintf (to a stream), and vdprintf (to a file descriptor).
template <class C, class To>
struct PrintsTo {
  using Signature = int(To, const C*, std::va_list);
  static void touch(const auto& look, To, const C* format, std::va_list values) noexcept {
    check_printed(look, format, values);
  }
};

/// Models puts.
struct PutsText {
  using Signature = int(const char*);
  static void touch(const auto& look, const char* text) noexcept { look.text(text); }
};

/// Models fputs and fputws.
template <class C>
struct PutsTextTo {
  using Signature = int(const C*, std::FILE*);
  static void touch(const auto& look, const C* text, std::FILE*) noexcept { look.text(text); }
};

/// Models __vsprintf_chk.
struct PrintsFortifiedText {
  using Signature = int(char*, int, std::size_t, const char*, std::va_list);
  static void touch_before(const auto& look, char* to, int, std::size_t, const char* format,
                           std::va_list values) noexcept {
    PrintsText::touch_before(look, to, format, values);
  }
  static void touch_after(const auto& look, int result, char* to, int, std::size_t,
                          const char* format, std::va_list values) noexcept {
    PrintsText::touch_after(look, result, to, format, values);
  }
};

/// Models __vsnprintf_chk, or __vswprintf_chk if `C` and `Shape` are those of wide characters.
template <class C, class Shape>
struct PrintsFortifiedTextUpTo {
  using Signature = int(C*, std::size_t, int, std::size_t, const C*, std::va_list);
  static void touch_before(const auto& look, C* to, std::size_t most, int, std::size_t,
                           const C* format, std::va_list values) noexcept {
    Shape::touch_before(look, to, most, format, values);
  }
  static void touch_after(const auto& look, int result, C* to, std::size_t most, int, std::size_t,
                          const C* format, std::va_list values) noexcept {
    Shape::touch_after(look, result, to, most, format, values);
  }
};

/// Models __vprintf_chk and __vwprintf_chk.
template <class C>
struct PrintsFortified {
  using Signature = int(int, const C*, std::va_list);
  static void touch(const auto& look, int, const C* format, std::va_list values) noexcept {
    check_printed(look, format, values);
  }
};

/// Models __vfprintf_chk, __vdprintf_chk and __vasprintf_chk, which output to `To`.
template <class C, class To, class Shape>
struct PrintsFortifiedTo {
  using Signature = int(To, int, const C*, std::va_list);
  static void touch(const auto& look, To to, int, const C* format, std::va_list values) noexcept {
    Shape::touch(look, to, format, values);
  }
};

}  // namespace alloctap::string_shapes
