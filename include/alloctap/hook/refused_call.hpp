/// What a call returns that is refused.
#pragma once

#include <cerrno>
#include <type_traits>

#include "alloctap/hook/function_description.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/throw_bad_alloc.hpp"

namespace alloctap {

/// As `Function` says that there is no memory, in its own type of result.
template <class Function>
ALLOCTAP_NOINLINE auto refused_call() {
  using Result = typename ResultOf<typename Function::Signature>::Type;
  if constexpr (std::is_same_v<Result, int>) {
    return ENOMEM;
  } else {
    if constexpr (requires { requires Function::throws; }) os::throw_bad_alloc();
    errno = ENOMEM;
    return Result{};
  }
}

}  // namespace alloctap
