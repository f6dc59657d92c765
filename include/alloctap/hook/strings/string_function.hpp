/// Traits that describe one string or memory function to the hook handlers.
///
/// A description is a type with these members:
///   `name`      linker symbol
///   `shown`     name in reports: __memcpy_chk is shown as memcpy
///   `Signature` function type
///   `touch`     reports which ranges a call reads and writes (`string_shapes.hpp`)
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "alloctap/hook/function_description.hpp"

namespace alloctap {

/// String literal as a template argument.
template <std::size_t Size>
struct FunctionName {
  char text[Size] = {};

  // NOLINTNEXTLINE(google-explicit-constructor): a literal is one.
  consteval FunctionName(const char (&name)[Size]) { std::copy_n(name, Size, text); }

  [[nodiscard]] constexpr std::string_view view() const noexcept { return {text, Size - 1}; }
};

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

}  // namespace alloctap
