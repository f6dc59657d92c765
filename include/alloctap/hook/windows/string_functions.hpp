/// The functions of strings and of memory that are checked on Windows, and who exports them.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "alloctap/hook/strings/string_functions.hpp"
#include "alloctap/hook/windows/printing_functions.hpp"

namespace alloctap {
namespace string_shapes {

/// _strdup: the copy is a block of its own.
template <class C>
struct DuplicatesText {
  using Signature = C*(const C*);
  static void touch(const auto& look, const C* text) noexcept { look.text(text); }
};

/// What is called otherwise there.
using WindowsNames =
    FunctionList<StringFunction<"_memccpy", CopiesUntil>,
                 StringFunction<"_stricmp", ComparesTexts<char, AsLowerCase>>,
                 StringFunction<"_strnicmp", ComparesTextsUpTo<char, AsLowerCase>>,
                 StringFunction<"_strdup", DuplicatesText<char>>,
                 StringFunction<"_wcsicmp", ComparesTexts<wchar_t, AsLowerCase>>,
                 StringFunction<"_wcsnicmp", ComparesTextsUpTo<wchar_t, AsLowerCase>>,
                 StringFunction<"_wcsdup", DuplicatesText<wchar_t>>>;

}  // namespace string_shapes

/// By their exported names; a library need not have all.
using WindowsStringFunctions = JoinedFunctions<
    JoinedFunctions<string_shapes::MemoryFunctions, string_shapes::TextFunctions>,
    JoinedFunctions<JoinedFunctions<string_shapes::NumberFunctions, string_shapes::WideFunctions>,
                    JoinedFunctions<string_shapes::WindowsNames, WindowsPrintingFunctions>>>;

/// The libraries that export them, each functions of its own.
inline constexpr std::array<std::string_view, 4> kStringLibraries{"msvcrt.dll", "ucrtbase.dll",
                                                                  "vcruntime140.dll", "ntdll.dll"};

}  // namespace alloctap
