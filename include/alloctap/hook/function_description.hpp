/// Traits that describe one allocation function to the hook handlers.
///
/// A description is a type with these members:
///   `name`         linker symbol
///   `Signature`    function type
///   `role`         which handler of `CallWrapper` fits
///   `kind`         family (malloc, new, new[], ...), for roles that allocate or free
///   `request`      reads size and alignment in bytes from the arguments
///   `with_bytes`   optional: the arguments for another size, for functions that allocate
///   `has_content`  true if the caller may rely on the block's initial bytes
///   `throws`       true if it throws std::bad_alloc when out of memory
///   `is_hot`       true if calls are so frequent that its handler is inlined; others share code
///   `ignores_null` true if freeing a null pointer has no effect; the hook then skips the real call
#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/event/allocation_kind.hpp"

namespace alloctap {

/// Kind of function: selects the handler.
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

/// Size and alignment in bytes that an allocation requests, or that a sized free states. A member
/// is 0 if the call does not give it.
struct BlockRequest {
  std::size_t size = 0;
  std::size_t alignment = 0;
};

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

/// Base of functions that ignore a null pointer, as the C or C++ standard requires.
template <DeallocationKind Kind>
struct DeallocatesBlock : Deallocates<Kind> {
  static constexpr bool ignores_null = true;
};

}  // namespace functions

template <class Function>
inline constexpr bool kIgnoresNull = requires { requires Function::ignores_null; };

template <class Function>
inline constexpr bool kIsHot = requires { requires Function::is_hot; };

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

template <class First, class Second>
using JoinedFunctions = typename JoinFunctions<First, Second>::Type;

}  // namespace alloctap
