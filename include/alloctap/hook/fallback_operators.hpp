/// operator new and delete on top of malloc and free, used if there is no C++ library.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include "alloctap/hook/allocation_functions.hpp"
#include "alloctap/os/throw_bad_alloc.hpp"

namespace alloctap {

/// Operator whose `call` has the signature of `Function`. `Originals` provides malloc, memalign and
/// free. operator new calls the new-handler in a loop ([new.delete.single]). Runs inside malloc.
template <class Function, class Originals, class Signature = typename Function::Signature>
struct FallbackOperator;

template <class Originals>
void* allocate_or_handle(std::size_t size, std::size_t alignment, bool nothrow) {
  const std::size_t least = size == 0 ? 1 : size;
  for (;;) {
    void* block = alignment == 0 ? Originals::template get<functions::Malloc>()(least)
                                 : Originals::template get<functions::Memalign>()(alignment, least);
    if (block != nullptr) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr && nothrow) return nullptr;
    if (handler == nullptr) os::throw_bad_alloc();
    handler();
  }
}

template <class Function, class Originals, class... Rest>
struct FallbackOperator<Function, Originals, void*(std::size_t, Rest...)> {
  static constexpr bool kNothrow = (std::is_same_v<Rest, const std::nothrow_t&> || ...);
  static void* call(std::size_t size, Rest... rest) noexcept(kNothrow) {
    const std::size_t alignment = Function::request(size, rest...).alignment;
    return allocate_or_handle<Originals>(size, alignment, kNothrow);
  }
};

template <class Function, class Originals, class... Rest>
struct FallbackOperator<Function, Originals, void(void*, Rest...)> {
  static void call(void* block, Rest...) noexcept {
    Originals::template get<functions::Free>()(block);
  }
};

}  // namespace alloctap
