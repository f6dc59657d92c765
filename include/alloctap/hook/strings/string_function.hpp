/// What a description of a function of strings or of memory says.
///
/// A description is a type with
///   `name`      the symbol, as the linker knows it;
///   `shown`     what reports call it: a fortified form goes by the name that stands in the source;
///   `Signature` the function's type;
///   `touch`     which ranges a call reads and writes (`string_shapes.hpp`).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "alloctap/hook/function_description.hpp"

namespace alloctap {

/// A name as an argument of a template.
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

/// The shape of a function that was compiled with _FORTIFY_SOURCE: as `Shape`, with the size of the
/// object that is written behind the other arguments.
template <class Shape, class Signature = typename Shape::Signature>
struct Fortified;
template <class Shape, class Result, class... Arguments>
struct Fortified<Shape, Result(Arguments...)> {
  using Signature = Result(Arguments..., std::size_t);
  static void touch(const auto& look, Arguments... arguments, std::size_t) noexcept {
    Shape::touch(look, arguments...);
  }
};

/// What the entry point of a function is made of.
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

/// The description of that name in a `FunctionList`.
template <FunctionName Name, class List>
using FunctionNamed = typename FindFunction<Name, List>::type;

}  // namespace alloctap
