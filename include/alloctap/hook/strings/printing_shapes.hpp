/// Models of the printf family (`string_shapes.hpp`). `touch_before(look, arguments...)` runs
/// before the call. `touch_after(look, result, arguments...)` runs after it, when the printed
/// length is known.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>

#include "alloctap/hook/strings/printed_texts.hpp"

namespace alloctap::string_shapes {

/// Checks the format and the strings that a call prints.
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
