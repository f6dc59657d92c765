/// What a description of an allocation function says.
///
/// A description is a type with
///   `name`      the symbol, as the linker knows it;
///   `Signature` the function's type;
///   `role`      which handler fits;
///   `kind`      the family that a block belongs to, for roles that allocate or free;
///   `request`   size and alignment in bytes, from the arguments of the call;
///   `with_bytes`  the arguments of the call that asks for another number of bytes, for functions
///               that allocate and have one; `has_content` where the caller may rely on what is in
///               the block; `throws` where it throws std::bad_alloc if there is no memory;
///   `is_hot`    true where programs call it so often that its handler is folded together; the
///               others share the code that records;
///   `ignores_null`  true where a null pointer is given back without any effect, for roles that
///               free: then the function is not called for one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/event/allocation_kind.hpp"

namespace alloctap {

/// The shape of a function, as handlers see it.
enum class CallRole : std::uint8_t {
  kAllocate,      // returns a block, or nullptr
  kAllocateInto,  // stores a block through its first argument, returns an error number
  kReallocate,
  kDeallocate,
  kMeasure,
  kMap,
  kUnmap,
  kRemap,
};

/// What a call asks for, or states of the block it frees; 0 where it says nothing.
struct BlockRequest {
  std::size_t size = 0;
  std::size_t alignment = 0;
};

/// The type that a function of type `Signature` returns.
template <class Signature>
struct ResultOf;
template <class Result, class... Arguments>
struct ResultOf<Result(Arguments...)> {
  using Type = Result;
};

namespace functions {

template <AllocationKind Kind>
struct Allocates {
  static constexpr CallRole role = CallRole::kAllocate;
  static constexpr AllocationKind kind = Kind;
};

template <DeallocationKind Kind>
struct Deallocates {
  static constexpr CallRole role = CallRole::kDeallocate;
  static constexpr DeallocationKind kind = Kind;
};

/// Of the C and C++ standards, which give a null pointer no effect.
template <DeallocationKind Kind>
struct DeallocatesBlock : Deallocates<Kind> {
  static constexpr bool ignores_null = true;
};

}  // namespace functions

/// Whether the description says so.
template <class Function>
inline constexpr bool kIgnoresNull = requires { requires Function::ignores_null; };

/// Whether the description says so.
template <class Function>
inline constexpr bool kIsHot = requires { requires Function::is_hot; };

/// A list of descriptions, for code that goes through all of them.
template <class... Functions>
struct FunctionList {
  template <class Visit>
  static constexpr void for_each(Visit&& visit) {
    (visit(Functions{}), ...);
  }
  static constexpr std::size_t size = sizeof...(Functions);
  template <class... Others>
  using With = FunctionList<Functions..., Others...>;
};

template <class First, class Second>
struct JoinFunctions;
template <class First, class... Functions>
struct JoinFunctions<First, FunctionList<Functions...>> {
  using Type = typename First::template With<Functions...>;
};

/// One list of the functions of two.
template <class First, class Second>
using JoinedFunctions = typename JoinFunctions<First, Second>::Type;

}  // namespace alloctap
