/// Table of the string and memory functions that are checked, and their descriptions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cwchar>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "alloctap/hook/hooked_function.hpp"
#include "alloctap/hook/strings/printing_shapes.hpp"
#include "alloctap/hook/strings/string_shapes.hpp"

namespace alloctap {

/// String literal as a template argument.
template <std::size_t Size>
struct FunctionName {
  char text[Size] = {};

  // NOLINTNEXTLINE(google-explicit-constructor): a literal is one.
  consteval FunctionName(const char (&name)[Size]) { std::copy_n(name, Size, text); }

  [[nodiscard]] constexpr std::string_view view() const noexcept { return {text, Size - 1}; }
};

/// Description of one function: `name` is its linker symbol, `shown` its name in reports
/// (__memcpy_chk is shown as memcpy). `Shape` is a model with `Signature` and `touch`
/// (`string_shapes.hpp`).
template <FunctionName Name, class Shape, FunctionName Shown = Name>
struct StringFunction : Shape {
  static constexpr const char* name = Name.text;
  static constexpr std::string_view shown = Shown.view();
};

/// Model of a _FORTIFY_SOURCE variant: `Shape` with an additional last argument, the destination's
/// size.
template <class Shape, class Signature = typename Shape::Signature>
struct Fortified;
template <class Shape, class Result, class... Arguments>
struct Fortified<Shape, Result(Arguments...)> {
  using Signature = Result(Arguments..., std::size_t);
  static void touch(const auto& look, Arguments... arguments, std::size_t) noexcept {
    Shape::touch(look, arguments...);
  }
};

template <class Signature>
struct SignatureParts;
template <class R, class... Arguments>
struct SignatureParts<R(Arguments...)> {
  using Result = R;
  template <std::size_t I>
  using Argument = std::tuple_element_t<I, std::tuple<Arguments...>>;
};

template <FunctionName Name, class List>
struct FindFunction;
template <FunctionName Name, class First, class... Others>
struct FindFunction<Name, FunctionList<First, Others...>>
    : std::conditional_t<Name.view() == First::name, std::type_identity<First>,
                         FindFunction<Name, FunctionList<Others...>>> {};

/// Finds the description called `Name` in a `FunctionList`.
template <FunctionName Name, class List>
using FunctionNamed = typename FindFunction<Name, List>::type;

namespace string_shapes {

/// Functions on byte ranges, such as memcpy.
using MemoryFunctions = FunctionList<
    StringFunction<"memcpy", CopiesRange<void>>, StringFunction<"mempcpy", CopiesRange<void>>,
    StringFunction<"memmove", MovesRange<void>>, StringFunction<"bcopy", MovesBytesFrom>,
    StringFunction<"memccpy", CopiesUntil>, StringFunction<"memset", FillsRange<void, int>>,
    StringFunction<"bzero", ClearsBytes>, StringFunction<"explicit_bzero", ClearsBytes>,
    StringFunction<"memcmp", ComparesRanges<void>>, StringFunction<"bcmp", ComparesRanges<void>>,
    StringFunction<"memchr", FindsInRange<void, int, unsigned char>>,
    StringFunction<"memrchr", FindsLastInRange>, StringFunction<"memmem", FindsRange>>;

/// Functions on strings of char, such as strcpy.
using TextFunctions = FunctionList<
    StringFunction<"strcpy", CopiesText<char>>, StringFunction<"stpcpy", CopiesText<char>>,
    StringFunction<"strncpy", CopiesTextUpTo<char>>,
    StringFunction<"stpncpy", CopiesTextUpTo<char>>, StringFunction<"strcat", AppendsText<char>>,
    StringFunction<"strncat", AppendsTextUpTo<char>>, StringFunction<"strlen", MeasuresText<char>>,
    StringFunction<"strnlen", MeasuresTextUpTo<char>>,
    StringFunction<"strcmp", ComparesTexts<char, AsIs>>,
    StringFunction<"strncmp", ComparesTextsUpTo<char, AsIs>>,
    StringFunction<"strcasecmp", ComparesTexts<char, AsLowerCase>>,
    StringFunction<"strncasecmp", ComparesTextsUpTo<char, AsLowerCase>>,
    StringFunction<"strchr", FindsCharacter<char, int>>,
    StringFunction<"index", FindsCharacter<char, int>>,
    StringFunction<"strchrnul", FindsCharacter<char, int>>,
    StringFunction<"strrchr", FindsLastCharacter<char, int>>,
    StringFunction<"rindex", FindsLastCharacter<char, int>>,
    StringFunction<"strstr", FindsText<char>>, StringFunction<"strcasestr", MeasuresBoth<char>>,
    StringFunction<"strspn", SpansText<char>>,
    StringFunction<"strcspn", FindsOneOf<char, std::size_t>>,
    StringFunction<"strpbrk", FindsOneOf<char, char*>>>;

using WideFunctions = FunctionList<
    StringFunction<"wmemcpy", CopiesRange<wchar_t>>,
    StringFunction<"wmemmove", MovesRange<wchar_t>>,
    StringFunction<"wmemset", FillsRange<wchar_t, wchar_t>>,
    StringFunction<"wmemcmp", ComparesRanges<wchar_t>>,
    StringFunction<"wmemchr", FindsInRange<wchar_t, wchar_t, wchar_t>>,
    StringFunction<"wcscpy", CopiesText<wchar_t>>, StringFunction<"wcpcpy", CopiesText<wchar_t>>,
    StringFunction<"wcsncpy", CopiesTextUpTo<wchar_t>>,
    StringFunction<"wcpncpy", CopiesTextUpTo<wchar_t>>,
    StringFunction<"wcscat", AppendsText<wchar_t>>,
    StringFunction<"wcsncat", AppendsTextUpTo<wchar_t>>,
    StringFunction<"wcslen", MeasuresText<wchar_t>>,
    StringFunction<"wcsnlen", MeasuresTextUpTo<wchar_t>>,
    StringFunction<"wcscmp", ComparesTexts<wchar_t, AsIs>>,
    StringFunction<"wcsncmp", ComparesTextsUpTo<wchar_t, AsIs>>,
    StringFunction<"wcscasecmp", ComparesTexts<wchar_t, AsLowerCase>>,
    StringFunction<"wcsncasecmp", ComparesTextsUpTo<wchar_t, AsLowerCase>>,
    StringFunction<"wcschr", FindsCharacter<wchar_t, wchar_t>>,
    StringFunction<"wcsrchr", FindsLastCharacter<wchar_t, wchar_t>>,
    StringFunction<"wcsstr", FindsText<wchar_t>>, StringFunction<"wcsspn", SpansText<wchar_t>>,
    StringFunction<"wcscspn", FindsOneOf<wchar_t, std::size_t>>,
    StringFunction<"wcspbrk", FindsOneOf<wchar_t, wchar_t*>>>;

/// Conversions from text to numbers.
using NumberFunctions =
    FunctionList<StringFunction<"strtol", ParsesInteger<char, long>>,
                 StringFunction<"strtoul", ParsesInteger<char, unsigned long>>,
                 StringFunction<"strtoll", ParsesInteger<char, long long>>,
                 StringFunction<"strtoull", ParsesInteger<char, unsigned long long>>,
                 StringFunction<"strtof", ParsesReal<char, float>>,
                 StringFunction<"strtod", ParsesReal<char, double>>,
                 StringFunction<"wcstol", ParsesInteger<wchar_t, long>>,
                 StringFunction<"wcstoul", ParsesInteger<wchar_t, unsigned long>>,
                 StringFunction<"wcstod", ParsesReal<wchar_t, double>>,
                 StringFunction<"atoi", ReadsInteger<int>>,
                 StringFunction<"atol", ReadsInteger<long>>,
                 StringFunction<"atoll", ReadsInteger<long long>>>;

/// Functions that print. An entry point with `...` calls the listed function with a va_list.
using PrintingFunctions =
    FunctionList<StringFunction<"vsprintf", PrintsText, "sprintf">,
                 StringFunction<"vsnprintf", PrintsTextUpTo, "snprintf">,
                 StringFunction<"vswprintf", PrintsWideTextUpTo, "swprintf">,
                 StringFunction<"vasprintf", PrintsNewText, "asprintf">,
                 StringFunction<"vprintf", Prints<char>, "printf">,
                 StringFunction<"vwprintf", Prints<wchar_t>, "wprintf">,
                 StringFunction<"vfprintf", PrintsTo<char, std::FILE*>, "fprintf">,
                 StringFunction<"vfwprintf", PrintsTo<wchar_t, std::FILE*>, "fwprintf">,
                 StringFunction<"vdprintf", PrintsTo<char, int>, "dprintf">,
                 StringFunction<"puts", PutsText>, StringFunction<"fputs", PutsTextTo<char>>,
                 StringFunction<"fputws", PutsTextTo<wchar_t>>>;

/// Printing functions of _FORTIFY_SOURCE.
using FortifiedPrintingFunctions = FunctionList<
    StringFunction<"__vsprintf_chk", PrintsFortifiedText, "sprintf">,
    StringFunction<"__vsnprintf_chk", PrintsFortifiedTextUpTo<char, PrintsTextUpTo>, "snprintf">,
    StringFunction<"__vswprintf_chk", PrintsFortifiedTextUpTo<wchar_t, PrintsWideTextUpTo>,
                   "swprintf">,
    StringFunction<"__vasprintf_chk", PrintsFortifiedTo<char, char**, PrintsNewText>, "asprintf">,
    StringFunction<"__vprintf_chk", PrintsFortified<char>, "printf">,
    StringFunction<"__vwprintf_chk", PrintsFortified<wchar_t>, "wprintf">,
    StringFunction<"__vfprintf_chk",
                   PrintsFortifiedTo<char, std::FILE*, PrintsTo<char, std::FILE*>>, "fprintf">,
    StringFunction<"__vfwprintf_chk",
                   PrintsFortifiedTo<wchar_t, std::FILE*, PrintsTo<wchar_t, std::FILE*>>,
                   "fwprintf">,
    StringFunction<"__vdprintf_chk", PrintsFortifiedTo<char, int, PrintsTo<char, int>>, "dprintf">>;

using FortifiedFunctions = FunctionList<
    StringFunction<"__memcpy_chk", Fortified<CopiesRange<void>>, "memcpy">,
    StringFunction<"__mempcpy_chk", Fortified<CopiesRange<void>>, "mempcpy">,
    StringFunction<"__memmove_chk", Fortified<MovesRange<void>>, "memmove">,
    StringFunction<"__memset_chk", Fortified<FillsRange<void, int>>, "memset">,
    StringFunction<"__explicit_bzero_chk", Fortified<ClearsBytes>, "explicit_bzero">,
    StringFunction<"__strcpy_chk", Fortified<CopiesText<char>>, "strcpy">,
    StringFunction<"__stpcpy_chk", Fortified<CopiesText<char>>, "stpcpy">,
    StringFunction<"__strncpy_chk", Fortified<CopiesTextUpTo<char>>, "strncpy">,
    StringFunction<"__stpncpy_chk", Fortified<CopiesTextUpTo<char>>, "stpncpy">,
    StringFunction<"__strcat_chk", Fortified<AppendsText<char>>, "strcat">,
    StringFunction<"__strncat_chk", Fortified<AppendsTextUpTo<char>>, "strncat">,
    StringFunction<"__wmemcpy_chk", Fortified<CopiesRange<wchar_t>>, "wmemcpy">,
    StringFunction<"__wmemmove_chk", Fortified<MovesRange<wchar_t>>, "wmemmove">,
    StringFunction<"__wmemset_chk", Fortified<FillsRange<wchar_t, wchar_t>>, "wmemset">,
    StringFunction<"__wcscpy_chk", Fortified<CopiesText<wchar_t>>, "wcscpy">,
    StringFunction<"__wcpcpy_chk", Fortified<CopiesText<wchar_t>>, "wcpcpy">,
    StringFunction<"__wcsncpy_chk", Fortified<CopiesTextUpTo<wchar_t>>, "wcsncpy">,
    StringFunction<"__wcpncpy_chk", Fortified<CopiesTextUpTo<wchar_t>>, "wcpncpy">,
    StringFunction<"__wcscat_chk", Fortified<AppendsText<wchar_t>>, "wcscat">,
    StringFunction<"__wcsncat_chk", Fortified<AppendsTextUpTo<wchar_t>>, "wcsncat">>;

}  // namespace string_shapes

using StringFunctions = JoinedFunctions<
    JoinedFunctions<string_shapes::MemoryFunctions, string_shapes::TextFunctions>,
    JoinedFunctions<
        JoinedFunctions<string_shapes::NumberFunctions,
                        JoinedFunctions<string_shapes::PrintingFunctions,
                                        string_shapes::FortifiedPrintingFunctions>>,
        JoinedFunctions<string_shapes::WideFunctions, string_shapes::FortifiedFunctions>>>;

template <FunctionName Name>
using StringFunctionNamed = FunctionNamed<Name, StringFunctions>;
template <FunctionName Name>
using StringResult = typename SignatureParts<typename StringFunctionNamed<Name>::Signature>::Result;
template <FunctionName Name, std::size_t I>
using StringArgument =
    typename SignatureParts<typename StringFunctionNamed<Name>::Signature>::template Argument<I>;

}  // namespace alloctap
