/// Table of the string and memory functions that are checked on Windows, and their libraries.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "alloctap/hook/strings/string_functions.hpp"
#include "alloctap/hook/windows/printing_functions.hpp"

namespace alloctap {
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
