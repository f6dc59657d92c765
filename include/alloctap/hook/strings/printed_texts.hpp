/// Determines which strings a printf call reads.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "alloctap/hook/strings/printf_conversion.hpp"

namespace alloctap {

/// Parser of a format of `C` characters and its va_list before a printf call (C11 7.21.6.1 and
/// 7.29.2.1). Does not check a string with a precision that is converted between char and wchar_t,
/// because its length cannot be predicted. Stops at an unknown conversion (which the program
/// registered), or at a conversion that numbers its argument (%1$s).
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
