/// A non-owning reference to a callable.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace alloctap {

template <class Signature>
class FunctionRef;

/// A type-erased reference to a callable, like std::function_ref of C++26. Used for parameters, so
/// that a function with a callback is compiled once. Neither owns nor copies the callable. A call
/// costs one indirect jump.
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  /// `function` must outlive the reference.
  template <class Function>
    requires(!std::same_as<std::remove_cvref_t<Function>, FunctionRef>)
  FunctionRef(Function&& function) noexcept  // NOLINT(*-explicit-*): as for a const reference.
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
        call_(&call<std::remove_reference_t<Function>>) {}

  Result operator()(Arguments... arguments) const {
    return call_(object_, std::forward<Arguments>(arguments)...);
  }

 private:
  template <class Function>
  static Result call(void* object, Arguments... arguments) {
    return (*static_cast<Function*>(object))(std::forward<Arguments>(arguments)...);
  }

  void* object_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace alloctap
