/// Determines which strings a printf call of Windows reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/hook/strings/printf_conversion.hpp"

namespace alloctap {

/// Reader of a va_list. On x64 each argument takes eight bytes. A long double is a double; larger
/// types are passed by pointer.
class PrintedValues {
 public:
  /// Type of a va_list, without compiler attributes.
  using List = char*;

  explicit PrintedValues(const char* list) noexcept : next_(list) {}

  std::uint64_t next() noexcept {
    std::uint64_t value = 0;
    std::memcpy(&value, next_, sizeof value);
    next_ += sizeof value;
    return value;
  }

 private:
  const char* next_;
};

/// `PrintedTexts` for formats of char on Windows. Stops at a conversion that C does not define
/// (%5I64d, %ws, %Z). Formats of wchar_t are not parsed, because an option of the call decides what
/// %s means.
///
/// Sources: "Format specification syntax: printf and wprintf functions" and "x64 calling
/// convention" (Microsoft).
template <class Look>
class WindowsPrintedTexts {
 public:
  static void look_at(const Look& look, const char* format, PrintedValues values) noexcept {
    if (format == nullptr) return;
    look.text(format);
    WindowsPrintedTexts texts(look, values);
    texts.walk(format, format + look.length_of(format));
  }

 private:
  WindowsPrintedTexts(const Look& look, PrintedValues values) noexcept
      : look_(look), values_(values) {}

  void walk(const char* at, const char* end) noexcept {
    while (at < end) {
      if (*at++ != '%') continue;
      PrintfConversion<char> conversion(at, end);
      at = conversion.read([this]() noexcept { return static_cast<int>(values_.next()); });
      if (conversion.kind() == PrintfKind::kUnknown) return;
      if (conversion.kind() != PrintfKind::kNothing) take_value(conversion);
    }
  }

  void take_value(const PrintfConversion<char>& conversion) noexcept {
    const auto value = static_cast<std::uintptr_t>(values_.next());
    if (value == 0) return;  // Printed as (null).
    const int precision = conversion.precision();
    // %hS is a string of char.
    const bool is_narrow = conversion.value_bytes() < sizeof(int);
    if (conversion.kind() == PrintfKind::kText ||
        (conversion.kind() == PrintfKind::kWideText && is_narrow)) {
      const auto most = precision < 0 ? SIZE_MAX : static_cast<std::size_t>(precision);
      look_.text(reinterpret_cast<const char*>(value), most);
    } else if (conversion.kind() == PrintfKind::kWideText && precision < 0) {
      look_.text(reinterpret_cast<const wchar_t*>(value));
    }
  }

  const Look& look_;
  PrintedValues values_;
};

}  // namespace alloctap
