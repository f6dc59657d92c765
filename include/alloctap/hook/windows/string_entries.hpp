/// Entry points of the string and memory functions on Windows. May run inside malloc.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdint>

#include "alloctap/event/memory_access.hpp"
#include "alloctap/hook/original_functions.hpp"
#include "alloctap/hook/plt/target.hpp"
#include "alloctap/hook/strings/string_call.hpp"
#include "alloctap/hook/windows/string_functions.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

/// Originals of the library at index `Library` of `kStringLibraries`.
template <AccessSink Sink, std::size_t Library>
class WindowsStringOriginals : public OriginalFunctions<WindowsStringOriginals<Sink, Library>> {
 public:
  /// Does nothing, because the slots already show whether calls arrive.
  static void note_arrival() noexcept {}
};

/// Returns the description of a hooked function; its group is the index of its library.
template <class Function, class Originals, std::size_t Library, class Call>
PltTarget string_target(Call* call) noexcept {
  return {.name = Function::name,
          .handler = reinterpret_cast<std::uintptr_t>(call),
          .group = Library,
          .publish = &Originals::template set<Function>};
}

/// Entry point: `call` replaces a function of the library at index `Library`.
template <class Function, AccessSink Sink, std::size_t Library,
          class Signature = typename Function::Signature>
struct WindowsStringEntry;

template <class Function, AccessSink Sink, std::size_t Library, class Result, class... Arguments>
struct WindowsStringEntry<Function, Sink, Library, Result(Arguments...)> {
  using Originals = WindowsStringOriginals<Sink, Library>;

  ALLOCTAP_NOINLINE static Result call(Arguments... arguments) {
    return StringCall<Sink, Originals>::template call<Function>(ALLOCTAP_CALL_ORIGIN(),
                                                                arguments...);
  }
};

/// Handles a `VariadicFunction` by a call of the library's va_list function.
template <class Function, AccessSink Sink, std::size_t Library>
struct WindowsListCall {
  struct Originals {
    template <class>
    static auto* get() noexcept {
      return WindowsStringOriginals<Sink, Library>::template get<typename Function::WithList>();
    }
    static void note_arrival() noexcept {}
  };

  template <class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static int call(const CallOrigin& origin, Arguments... arguments) {
    return StringCall<Sink, Originals>::template call<Function>(origin, arguments...);
  }
};

template <class Function, AccessSink Sink, std::size_t Library, class A>
struct WindowsStringEntry<Function, Sink, Library, int(A, ...)> {
  ALLOCTAP_NOINLINE static int call(A a, ...) {
    std::va_list values;
    va_start(values, a);
    const int result =
        WindowsListCall<Function, Sink, Library>::call(ALLOCTAP_CALL_ORIGIN(), a, values);
    va_end(values);
    return result;
  }
};

template <class Function, AccessSink Sink, std::size_t Library, class A, class B>
struct WindowsStringEntry<Function, Sink, Library, int(A, B, ...)> {
  ALLOCTAP_NOINLINE static int call(A a, B b, ...) {
    std::va_list values;
    va_start(values, b);
    const int result =
        WindowsListCall<Function, Sink, Library>::call(ALLOCTAP_CALL_ORIGIN(), a, b, values);
    va_end(values);
    return result;
  }
};

template <class Function, AccessSink Sink, std::size_t Library, class A, class B, class C>
struct WindowsStringEntry<Function, Sink, Library, int(A, B, C, ...)> {
  ALLOCTAP_NOINLINE static int call(A a, B b, C c, ...) {
    std::va_list values;
    va_start(values, c);
    const int result =
        WindowsListCall<Function, Sink, Library>::call(ALLOCTAP_CALL_ORIGIN(), a, b, c, values);
    va_end(values);
    return result;
  }
};

/// Calls `add(const PltTarget&)` for each function of the libraries from index `Library` on.
template <AccessSink Sink, std::size_t Library = 0, class Add>
void for_each_string_target(Add& add) {
  WindowsStringFunctions::for_each([&add](auto function) {
    using Function = decltype(function);
    using Originals = WindowsStringOriginals<Sink, Library>;
    add(string_target<Function, Originals, Library>(
        &WindowsStringEntry<Function, Sink, Library>::call));
  });
  if constexpr (Library + 1 < kStringLibraries.size()) {
    for_each_string_target<Sink, Library + 1>(add);
  }
}

}  // namespace alloctap
