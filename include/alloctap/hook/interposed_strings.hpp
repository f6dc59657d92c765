/// Interposed string, memory and printf functions, for `StringChecks`. May run inside malloc.
///
/// Has only the entry points; `string_functions.hpp` describes what each function reads and writes.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdio>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/event/block_checks.hpp"
#include "alloctap/hook/strings/string_access_checker.hpp"
#include "alloctap/hook/strings/string_originals.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

template <AccessSink Sink>
using InterposedStringCall = StringCall<Sink, StringOriginals<Sink>>;

}  // namespace alloctap

// clang-format off
/// Defines the entry point of the C function NAME. PARAMETERS are its parameters, whose names
/// follow as the last arguments. The C++ name is not NAME, because headers overload some functions
/// in C++ (strchr). The entry is not noexcept, because pthread_cancel unwinds threads that print.
#define ALLOCTAP_DEFINE_STRING_ENTRY(Tracker, NAME, PARAMETERS, ...) \
  ::alloctap::StringResult<#NAME> alloctap_string_##NAME PARAMETERS ALLOCTAP_ASM(#NAME); \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE ::alloctap::StringResult<#NAME> alloctap_string_##NAME PARAMETERS { \
    return ::alloctap::InterposedStringCall<::alloctap::SinkOf<Tracker>>::call<::alloctap::StringFunctionNamed<#NAME>>( \
        ALLOCTAP_CALL_ORIGIN(), __VA_ARGS__); \
  }

#define ALLOCTAP_DEFINE_STRING_ENTRY_1(Tracker, NAME) \
  ALLOCTAP_DEFINE_STRING_ENTRY(Tracker, NAME, (::alloctap::StringArgument<#NAME, 0> a), a)
#define ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, NAME) \
  ALLOCTAP_DEFINE_STRING_ENTRY(Tracker, NAME, (::alloctap::StringArgument<#NAME, 0> a, ::alloctap::StringArgument<#NAME, 1> b), a, b)
#define ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, NAME) \
  ALLOCTAP_DEFINE_STRING_ENTRY(Tracker, NAME, (::alloctap::StringArgument<#NAME, 0> a, ::alloctap::StringArgument<#NAME, 1> b, ::alloctap::StringArgument<#NAME, 2> c), a, b, c)
#define ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, NAME) \
  ALLOCTAP_DEFINE_STRING_ENTRY(Tracker, NAME, (::alloctap::StringArgument<#NAME, 0> a, ::alloctap::StringArgument<#NAME, 1> b, ::alloctap::StringArgument<#NAME, 2> c, ::alloctap::StringArgument<#NAME, 3> d), a, b, c, d)
#define ALLOCTAP_DEFINE_STRING_ENTRY_5(Tracker, NAME) \
  ALLOCTAP_DEFINE_STRING_ENTRY(Tracker, NAME, (::alloctap::StringArgument<#NAME, 0> a, ::alloctap::StringArgument<#NAME, 1> b, ::alloctap::StringArgument<#NAME, 2> c, ::alloctap::StringArgument<#NAME, 3> d, ::alloctap::StringArgument<#NAME, 4> e), a, b, c, d, e)
#define ALLOCTAP_DEFINE_STRING_ENTRY_6(Tracker, NAME) \
  ALLOCTAP_DEFINE_STRING_ENTRY(Tracker, NAME, (::alloctap::StringArgument<#NAME, 0> a, ::alloctap::StringArgument<#NAME, 1> b, ::alloctap::StringArgument<#NAME, 2> c, ::alloctap::StringArgument<#NAME, 3> d, ::alloctap::StringArgument<#NAME, 4> e, ::alloctap::StringArgument<#NAME, 5> f), a, b, c, d, e, f)

#define ALLOCTAP_DEFINE_INTERPOSED_MEMORY_FUNCTIONS(Tracker) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, memcpy) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, mempcpy) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, memmove) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, bcopy) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, memccpy) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, memset) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, bzero) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, explicit_bzero) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, memcmp) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, bcmp) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, memchr) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, memrchr) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, memmem)

#define ALLOCTAP_DEFINE_INTERPOSED_TEXT_FUNCTIONS(Tracker) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, strcpy) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, stpcpy) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, strncpy) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, stpncpy) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, strcat) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, strncat) \
  ALLOCTAP_DEFINE_STRING_ENTRY_1(Tracker, strlen) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, strnlen) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, strcmp) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, strncmp) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, strcasecmp) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, strncasecmp) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, strchr) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, index) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, strchrnul) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, strrchr) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, rindex) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, strstr) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, strcasestr) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, strspn) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, strcspn) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, strpbrk)

#define ALLOCTAP_DEFINE_INTERPOSED_WIDE_FUNCTIONS(Tracker) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, wmemcpy) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, wmemmove) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, wmemset) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, wmemcmp) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, wmemchr) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, wcscpy) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, wcpcpy) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, wcsncpy) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, wcpncpy) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, wcscat) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, wcsncat) \
  ALLOCTAP_DEFINE_STRING_ENTRY_1(Tracker, wcslen) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, wcsnlen) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, wcscmp) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, wcsncmp) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, wcscasecmp) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, wcsncasecmp) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, wcschr) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, wcsrchr) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, wcsstr) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, wcsspn) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, wcscspn) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, wcspbrk)

#define ALLOCTAP_DEFINE_INTERPOSED_FORTIFIED_FUNCTIONS(Tracker) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, __memcpy_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, __mempcpy_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, __memmove_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, __memset_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, __explicit_bzero_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, __strcpy_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, __stpcpy_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, __strncpy_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, __stpncpy_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, __strcat_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, __strncat_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, __wmemcpy_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, __wmemmove_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, __wmemset_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, __wcscpy_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, __wcpcpy_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, __wcsncpy_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, __wcpncpy_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, __wcscat_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, __wcsncat_chk)

#define ALLOCTAP_DEFINE_INTERPOSED_NUMBER_FUNCTIONS(Tracker) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, strtol) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, strtoul) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, strtoll) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, strtoull) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, strtof) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, strtod) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, wcstol) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, wcstoul) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, wcstod) \
  ALLOCTAP_DEFINE_STRING_ENTRY_1(Tracker, atoi) \
  ALLOCTAP_DEFINE_STRING_ENTRY_1(Tracker, atol) \
  ALLOCTAP_DEFINE_STRING_ENTRY_1(Tracker, atoll)

/// Defines the entry point of the variadic function NAME, which calls V_NAME with a va_list. LAST
/// is the parameter before `...`.
#define ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, NAME, V_NAME, PARAMETERS, LAST, ...) \
  int alloctap_string_##NAME PARAMETERS ALLOCTAP_ASM(#NAME); \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE int alloctap_string_##NAME PARAMETERS { \
    std::va_list more; \
    va_start(more, LAST); \
    const int result = ::alloctap::InterposedStringCall<::alloctap::SinkOf<Tracker>>::call<::alloctap::StringFunctionNamed<#V_NAME>>( \
        ALLOCTAP_CALL_ORIGIN(), __VA_ARGS__, more); \
    va_end(more); \
    return result; \
  }

#define ALLOCTAP_DEFINE_INTERPOSED_PRINTING_FUNCTIONS(Tracker) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, vsprintf) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, vsnprintf) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, vswprintf) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, vasprintf) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, vprintf) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, vwprintf) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, vfprintf) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, vfwprintf) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, vdprintf) \
  ALLOCTAP_DEFINE_STRING_ENTRY_1(Tracker, puts) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, fputs) \
  ALLOCTAP_DEFINE_STRING_ENTRY_2(Tracker, fputws) \
  ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, sprintf, vsprintf, (char* a, const char* b, ...), b, a, b) \
  ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, snprintf, vsnprintf, \
                                 (char* a, std::size_t b, const char* c, ...), c, a, b, c) \
  ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, swprintf, vswprintf, \
                                 (wchar_t* a, std::size_t b, const wchar_t* c, ...), c, a, b, c) \
  ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, asprintf, vasprintf, (char** a, const char* b, ...), b, a, b) \
  ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, printf, vprintf, (const char* a, ...), a, a) \
  ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, wprintf, vwprintf, (const wchar_t* a, ...), a, a) \
  ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, fprintf, vfprintf, (std::FILE* a, const char* b, ...), b, a, b) \
  ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, fwprintf, vfwprintf, (std::FILE* a, const wchar_t* b, ...), b, a, b) \
  ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, dprintf, vdprintf, (int a, const char* b, ...), b, a, b)

#define ALLOCTAP_DEFINE_INTERPOSED_FORTIFIED_PRINTING_FUNCTIONS(Tracker) \
  ALLOCTAP_DEFINE_STRING_ENTRY_5(Tracker, __vsprintf_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_6(Tracker, __vsnprintf_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_6(Tracker, __vswprintf_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, __vasprintf_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, __vprintf_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_3(Tracker, __vwprintf_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, __vfprintf_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, __vfwprintf_chk) \
  ALLOCTAP_DEFINE_STRING_ENTRY_4(Tracker, __vdprintf_chk) \
  ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, __sprintf_chk, __vsprintf_chk, \
                                 (char* a, int b, std::size_t c, const char* d, ...), d, a, b, c, d) \
  ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, __snprintf_chk, __vsnprintf_chk, \
                                 (char* a, std::size_t b, int c, std::size_t d, const char* e, ...), e, a, b, c, d, e) \
  ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, __swprintf_chk, __vswprintf_chk, \
                                 (wchar_t* a, std::size_t b, int c, std::size_t d, const wchar_t* e, ...), e, a, b, c, d, e) \
  ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, __asprintf_chk, __vasprintf_chk, \
                                 (char** a, int b, const char* c, ...), c, a, b, c) \
  ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, __printf_chk, __vprintf_chk, (int a, const char* b, ...), b, a, b) \
  ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, __wprintf_chk, __vwprintf_chk, (int a, const wchar_t* b, ...), b, a, b) \
  ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, __fprintf_chk, __vfprintf_chk, \
                                 (std::FILE* a, int b, const char* c, ...), c, a, b, c) \
  ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, __fwprintf_chk, __vfwprintf_chk, \
                                 (std::FILE* a, int b, const wchar_t* c, ...), c, a, b, c) \
  ALLOCTAP_DEFINE_PRINTING_ENTRY(Tracker, __dprintf_chk, __vdprintf_chk, \
                                 (int a, int b, const char* c, ...), c, a, b, c)

/// Defines all `StringFunctions` for `Tracker`: a type name in scope whose Hook is InterposeHook
/// and whose Checks may check strings. Use at global scope, beside
/// ALLOCTAP_DEFINE_INTERPOSED_MALLOC.
#define ALLOCTAP_DEFINE_INTERPOSED_STRINGS(Tracker) \
  ALLOCTAP_DEFINE_INTERPOSED_MEMORY_FUNCTIONS(Tracker) \
  ALLOCTAP_DEFINE_INTERPOSED_TEXT_FUNCTIONS(Tracker) \
  ALLOCTAP_DEFINE_INTERPOSED_WIDE_FUNCTIONS(Tracker) \
  ALLOCTAP_DEFINE_INTERPOSED_NUMBER_FUNCTIONS(Tracker) \
  ALLOCTAP_DEFINE_INTERPOSED_PRINTING_FUNCTIONS(Tracker) \
  ALLOCTAP_DEFINE_INTERPOSED_FORTIFIED_FUNCTIONS(Tracker) \
  ALLOCTAP_DEFINE_INTERPOSED_FORTIFIED_PRINTING_FUNCTIONS(Tracker) \
  static_assert(true, "")
// clang-format on
