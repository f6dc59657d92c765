/// Stands in for the functions behind hooked ones.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "alloctap/hook/call_wrapper.hpp"
#include "tests/support/fakes.hpp"

namespace alloctap::testing {

/// What the test wants of the originals, and how they were called.
struct OriginalScript {
  bool recording = true;
  /// What an original gives back: its block or mapping, and its status where it returns one.
  void* block = nullptr;
  int status = 0;
  /// What it leaves in errno; 0 leaves errno as it is.
  int error = 0;
  /// What it does besides.
  std::function<void()> meanwhile;

  /// The arguments of the last call.
  std::vector<std::uintptr_t> arguments;
  std::size_t calls = 0;
  /// How much the sink had been told when the original ran.
  std::size_t sink_calls_before = 0;
};

inline OriginalScript original_script;

template <class Argument>
std::uintptr_t as_number(Argument argument) {
  if constexpr (std::is_pointer_v<Argument>) {
    return reinterpret_cast<std::uintptr_t>(argument);
  } else if constexpr (std::is_same_v<Argument, std::nothrow_t>) {
    return 0;
  } else {
    return static_cast<std::uintptr_t>(argument);
  }
}

/// One function for each signature.
template <class Signature>
struct FakeOriginal;

template <class Result, class... Arguments>
struct FakeOriginal<Result(Arguments...)> {
  static Result call(Arguments... arguments) {
    OriginalScript& script = original_script;
    script.arguments = {as_number<std::decay_t<Arguments>>(arguments)...};
    script.sink_calls_before = FakeSink<>::count();
    ++script.calls;
    if (script.meanwhile) script.meanwhile();
    if constexpr (std::is_same_v<Result(Arguments...), int(void**, std::size_t, std::size_t)>) {
      if (script.status == 0) *first(arguments...) = script.block;
    }
    if (script.error != 0) errno = script.error;
    if constexpr (std::is_pointer_v<Result>) return static_cast<Result>(script.block);
    if constexpr (std::is_integral_v<Result>) return static_cast<Result>(script.status);
  }

 private:
  template <class First, class... Rest>
  static First first(First value, Rest...) {
    return value;
  }
};

/// The `Originals` of `CallWrapper`.
struct FakeOriginals {
  static bool recording() noexcept { return original_script.recording; }
  template <class Function>
  static typename Function::Signature* get() noexcept {
    return &FakeOriginal<typename Function::Signature>::call;
  }
};

using FakeCallWrapper = CallWrapper<FakeOriginals, FakeSink<>>;

/// A test begins with empty hands.
inline void forget_calls() {
  original_script = {};
  FakeSink<>::clear();
}

inline constexpr std::uintptr_t kSomeCaller = 0x4711;

inline CallOrigin some_origin() { return {.caller = reinterpret_cast<const void*>(kSomeCaller)}; }

}  // namespace alloctap::testing
