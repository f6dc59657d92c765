/// Handler that runs between a hooked string function and the original. May run inside malloc.
#pragma once

#include "alloctap/hook/strings/string_access_checker.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap {

/// Handler of all `StringFunctions`. Checks the memory that an outermost call will access, then
/// calls the original with unchanged arguments. errno keeps the value that the original sets.
template <AccessSink Sink, class Originals>
struct StringCall {
  template <class Function, class... Arguments>
  ALLOCTAP_ALWAYS_INLINE static auto call(const CallOrigin& origin, Arguments... arguments) {
    auto* const original = Originals::template get<Function>();
    const bool looks = is_programs() && Sink::checks_strings();
    const StringAccessChecker<Sink> look(Function::shown, origin);
    if constexpr (requires { Function::touch(look, arguments...); }) {
      if (looks) Function::touch(look, arguments...);
      return original(arguments...);
    } else if constexpr (requires { Function::run(&look, original, arguments...); }) {
      return Function::run(looks ? &look : nullptr, original, arguments...);
    } else {
      if (looks) Function::touch_before(look, arguments...);
      const auto result = original(arguments...);
      if (looks) Function::touch_after(look, result, arguments...);
      return result;
    }
  }

 private:
  static bool is_programs() noexcept {
    const ReentrancyGuard guard;
    if (guard.is_outermost()) return true;
    if (UseInternalArena::active()) [[unlikely]] {
      Originals::note_arrival();
    }
    return false;
  }
};

}  // namespace alloctap
