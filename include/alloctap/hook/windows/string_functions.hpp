/// Table and models of the string, memory and printf functions that are checked on Windows.
#pragma once

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "alloctap/hook/strings/printing_shapes.hpp"
#include "alloctap/hook/strings/string_functions.hpp"

namespace alloctap {

/// Reader of a va_list. On x64 each argument takes eight bytes. A long double is a double, and
/// larger types are passed by pointer.
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
  static void check_access(const Look& look, const char* format, PrintedValues values) noexcept {
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

namespace string_shapes {

using ValueList = PrintedValues::List;

template <class Look, class C>
void look_at_windows_printed(const Look& look, const C* format, ValueList values) noexcept {
  if constexpr (std::is_same_v<C, char>) {
    WindowsPrintedTexts<Look>::check_access(look, format, PrintedValues(values));
  } else {
    look.text(format);
  }
}

/// Checks the output buffer, which has room for `most` characters. A negative result means that the
/// text filled the buffer and did not fit, or, in most functions, another error.
template <class C>
void look_at_room(const auto& look, int result, C* to, std::size_t most) noexcept {
  if (to == nullptr || (result < 0 && most > INT_MAX)) return;
  const std::size_t printed = result < 0 ? most : static_cast<std::size_t>(result) + 1;
  look.write(to, std::min(printed, most) * sizeof(C));
}

/// Models vsprintf.
struct WindowsPrintsText {
  using Signature = int(char*, const char*, ValueList);
  static void touch_before(const auto& look, char*, const char* format, ValueList values) noexcept {
    look_at_windows_printed(look, format, values);
  }
  static void touch_after(const auto& look, int result, char* to, const char*, ValueList) noexcept {
    look_at_room(look, result, to, SIZE_MAX);
  }
};

/// Models _vsnprintf and _vsnwprintf, which do not terminate a text that does not fit.
template <class C>
struct WindowsPrintsTextUpTo {
  using Signature = int(C*, std::size_t, const C*, ValueList);
  static void touch_before(const auto& look, C*, std::size_t, const C* format,
                           ValueList values) noexcept {
    look_at_windows_printed(look, format, values);
  }
  static void touch_after(const auto& look, int result, C* to, std::size_t most, const C*,
                          ValueList) noexcept {
    look_at_room(look, result, to, most);
  }
};

/// Models the Universal C Runtime's functions that sprintf, snprintf, their relatives and the _s
/// variants call. The first argument selects the variant; the second last is a locale.
template <class C>
struct UniversalPrintsText {
  using Signature = int(unsigned long long, C*, std::size_t, const C*, void*, ValueList);
  static void touch_before(const auto& look, unsigned long long, C*, std::size_t, const C* format,
                           void*, ValueList values) noexcept {
    look_at_windows_printed(look, format, values);
  }
  static void touch_after(const auto& look, int result, unsigned long long, C* to, std::size_t most,
                          const C*, void*, ValueList) noexcept {
    look_at_room(look, result, to, most);
  }
};

/// Models the function that printf and fprintf call in the Universal C Runtime.
struct UniversalPrintsTo {
  using Signature = int(unsigned long long, std::FILE*, const char*, void*, ValueList);
  static void touch(const auto& look, unsigned long long, std::FILE*, const char* format, void*,
                    ValueList values) noexcept {
    look_at_windows_printed(look, format, values);
  }
};

/// Models vprintf.
struct WindowsPrints {
  using Signature = int(const char*, ValueList);
  static void touch(const auto& look, const char* format, ValueList values) noexcept {
    look_at_windows_printed(look, format, values);
  }
};

/// Models vfprintf.
struct WindowsPrintsTo {
  using Signature = int(std::FILE*, const char*, ValueList);
  static void touch(const auto& look, std::FILE*, const char* format, ValueList values) noexcept {
    look_at_windows_printed(look, format, values);
  }
};

/// `Signature` with `...` in place of the va_list.
template <class Signature>
struct WithoutList;
template <class Result, class A>
struct WithoutList<Result(A, ValueList)> {
  using Signature = Result(A, ...);
};
template <class Result, class A, class B>
struct WithoutList<Result(A, B, ValueList)> {
  using Signature = Result(A, B, ...);
};
template <class Result, class A, class B, class D>
struct WithoutList<Result(A, B, D, ValueList)> {
  using Signature = Result(A, B, D, ...);
};

/// A function with `...` that calls `List`. Libraries that export `Name` also export `List`.
template <FunctionName Name, class List>
struct VariadicFunction : List {
  static constexpr const char* name = Name.text;
  static constexpr std::string_view shown = Name.view();
  using Signature = typename WithoutList<typename List::Signature>::Signature;
  using WithList = List;
};

using PrintsByList = StringFunction<"vprintf", WindowsPrints>;
using PrintsToByList = StringFunction<"vfprintf", WindowsPrintsTo>;
using PrintsTextByList = StringFunction<"vsprintf", WindowsPrintsText>;
using PrintsTextUpToByList = StringFunction<"_vsnprintf", WindowsPrintsTextUpTo<char>>;
using PrintsWideTextUpToByList = StringFunction<"_vsnwprintf", WindowsPrintsTextUpTo<wchar_t>>;

}  // namespace string_shapes

/// Functions of msvcrt.dll, ntdll.dll and the Universal C Runtime. The list omits swprintf and
/// vswprintf, because their parameters differ between libraries.
using WindowsPrintingFunctions = FunctionList<
    string_shapes::PrintsByList, string_shapes::PrintsToByList, string_shapes::PrintsTextByList,
    string_shapes::PrintsTextUpToByList, string_shapes::PrintsWideTextUpToByList,
    string_shapes::VariadicFunction<"printf", string_shapes::PrintsByList>,
    string_shapes::VariadicFunction<"fprintf", string_shapes::PrintsToByList>,
    string_shapes::VariadicFunction<"sprintf", string_shapes::PrintsTextByList>,
    string_shapes::VariadicFunction<"_snprintf", string_shapes::PrintsTextUpToByList>,
    string_shapes::VariadicFunction<"_snwprintf", string_shapes::PrintsWideTextUpToByList>,
    StringFunction<"__stdio_common_vfprintf", string_shapes::UniversalPrintsTo>,
    StringFunction<"__stdio_common_vsprintf", string_shapes::UniversalPrintsText<char>>,
    StringFunction<"__stdio_common_vsprintf_s", string_shapes::UniversalPrintsText<char>>,
    StringFunction<"__stdio_common_vswprintf", string_shapes::UniversalPrintsText<wchar_t>>,
    StringFunction<"__stdio_common_vswprintf_s", string_shapes::UniversalPrintsText<wchar_t>>>;

namespace string_shapes {

/// Models _strdup and _wcsdup, which allocate the copy.
template <class C>
struct DuplicatesText {
  using Signature = C*(const C*);
  static void touch(const auto& look, const C* text) noexcept { look.text(text); }
};

/// Functions with other names on Windows.
using WindowsNames =
    FunctionList<StringFunction<"_memccpy", CopiesUntil>,
                 StringFunction<"_stricmp", ComparesTexts<char, AsLowerCase>>,
                 StringFunction<"_strnicmp", ComparesTextsUpTo<char, AsLowerCase>>,
                 StringFunction<"_strdup", DuplicatesText<char>>,
                 StringFunction<"_wcsicmp", ComparesTexts<wchar_t, AsLowerCase>>,
                 StringFunction<"_wcsnicmp", ComparesTextsUpTo<wchar_t, AsLowerCase>>,
                 StringFunction<"_wcsdup", DuplicatesText<wchar_t>>>;

}  // namespace string_shapes

/// Functions to check, by exported name. A library may lack some.
using WindowsStringFunctions = JoinedFunctions<
    JoinedFunctions<string_shapes::MemoryFunctions, string_shapes::TextFunctions>,
    JoinedFunctions<JoinedFunctions<string_shapes::NumberFunctions, string_shapes::WideFunctions>,
                    JoinedFunctions<string_shapes::WindowsNames, WindowsPrintingFunctions>>>;

/// Libraries that export the functions. Each library has its own implementation.
inline constexpr std::array<std::string_view, 4> kStringLibraries{"msvcrt.dll", "ucrtbase.dll",
                                                                  "vcruntime140.dll", "ntdll.dll"};

}  // namespace alloctap
