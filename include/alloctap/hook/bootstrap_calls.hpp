/// Bootstrap functions: allocation functions that allocate from the bootstrap arena. They run
/// inside malloc, when the host's allocator must not be entered.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "alloctap/hook/allocation_functions.hpp"
#include "alloctap/os/mapping_calls.hpp"
#include "alloctap/runtime/bootstrap_arena.hpp"

namespace alloctap {

/// Bootstrap function: `call` has the signature of `Function` and allocates from the bootstrap
/// arena. Freeing has no effect.
template <class Function, CallRole Role = Function::role,
          class Signature = typename Function::Signature>
struct BootstrapCall;

/// Returns a block, or nullptr with errno set to ENOMEM.
inline void* bootstrap_block(const BlockRequest& request) noexcept {
  void* block = BootstrapArena::allocate(request.size, request.alignment);
  if (block == nullptr) errno = ENOMEM;
  return block;
}

template <class Function, class Result, class... Arguments>
struct BootstrapCall<Function, CallRole::kAllocate, Result*(Arguments...)> {
  static Result* call(Arguments... arguments) noexcept {
    return static_cast<Result*>(bootstrap_block(Function::request(arguments...)));
  }
};

/// strdup and strndup. The arena's blocks are zeroed, so the copied text is terminated.
template <class Function, class... Arguments>
struct BootstrapCall<Function, CallRole::kAllocate, char*(const char*, Arguments...)> {
  static char* call(const char* text, Arguments... arguments) noexcept {
    const BlockRequest request = Function::request(text, arguments...);
    void* block = bootstrap_block(request);
    if (block != nullptr) std::memcpy(block, text, request.size - 1);
    return static_cast<char*>(block);
  }
};

template <class Function>
struct BootstrapCall<Function, CallRole::kAllocateInto, int(void**, std::size_t, std::size_t)> {
  static int call(void** result, std::size_t alignment, std::size_t size) noexcept {
    void* block = BootstrapArena::allocate(size, alignment);
    if (block == nullptr) return ENOMEM;
    *result = block;
    return 0;
  }
};

/// Copies as many bytes as the smaller of the old and the new size. Returns nullptr if `old` is a
/// block of the host's allocator, because the block's size is unknown here.
template <class Function, class... Arguments>
struct BootstrapCall<Function, CallRole::kReallocate, void*(void*, Arguments...)> {
  static void* call(void* old, Arguments... arguments) noexcept {
    const BlockRequest request = Function::request(old, arguments...);
    const bool ours = old == nullptr || BootstrapArena::owns(old);
    void* block = ours ? bootstrap_block(request) : nullptr;
    if (block == nullptr) {
      errno = ENOMEM;
    } else if (old != nullptr) {
      std::memcpy(block, old, std::min(request.size, BootstrapArena::size_of(old)));
    }
    return block;
  }
};

/// Leaks a block of the host's allocator, because the host's free must not be entered.
template <class Function, class... Arguments>
struct BootstrapCall<Function, CallRole::kDeallocate, void(void*, Arguments...)> {
  static void call(void*, Arguments...) noexcept {}
};

template <class Function>
struct BootstrapCall<Function, CallRole::kMeasure, std::size_t(void*)> {
  static std::size_t call(void* block) noexcept {
    return block != nullptr && BootstrapArena::owns(block) ? BootstrapArena::size_of(block) : 0;
  }
};

template <class Function, class Signature>
struct BootstrapCall<Function, CallRole::kMap, Signature> {
  static constexpr auto& call = os::system_mmap;
};

template <class Function, class Signature>
struct BootstrapCall<Function, CallRole::kUnmap, Signature> {
  static constexpr auto& call = os::system_munmap;
};

template <class Function, class Signature>
struct BootstrapCall<Function, CallRole::kRemap, Signature> {
  static constexpr auto& call = os::system_mremap;
};

}  // namespace alloctap
