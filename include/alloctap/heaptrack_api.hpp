/// Implementation of heaptrack_api.h, so that programs annotated for heaptrack need no changes.
#pragma once

#include <atomic>
#include <cstddef>

#include "alloctap/event/allocation_event.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/meta/pool_table.hpp"

namespace alloctap {

/// The pool that records all calls of heaptrack_api.h, because that API has no pool names.
/// Thread-safe. Blocks are counted in this pool only; heaptrack would add them to the heap.
class HeaptrackPool {
 public:
  static void allocate(void* pointer, std::size_t bytes, const CallOrigin& origin) noexcept {
    PoolAnnotations::note_allocation({handle()}, pointer, bytes, origin);
  }
  static void free(void* pointer) noexcept { PoolAnnotations::free(handle(), pointer); }
  static void reallocate(void* old_pointer, std::size_t bytes, void* new_pointer,
                         const CallOrigin& origin) noexcept {
    if (new_pointer != nullptr || bytes == 0) free(old_pointer);
    allocate(new_pointer, bytes, origin);
  }

 private:
  static alloctap_pool handle() noexcept {
    const alloctap_pool known = handle_.load(std::memory_order_acquire);
    return known != 0 ? known : create();
  }

  ALLOCTAP_NOINLINE static alloctap_pool create() noexcept {
    return PoolAnnotations::create_once(handle_, "heaptrack");
  }

  static inline constinit std::atomic<alloctap_pool> handle_{0};
};

}  // namespace alloctap

/// Defines the functions of heaptrack_api.h. Use it in one source file of a program whose tracker
/// has the policy `NamedPools`. On Linux, a library that includes heaptrack_api.h finds the
/// functions only if the program exports them (`-Wl,--export-dynamic-symbol=heaptrack_malloc` and
/// so on, or `-rdynamic`).
#define ALLOCTAP_DEFINE_HEAPTRACK_API()                                                            \
  extern "C" {                                                                                     \
  ALLOCTAP_EXPORT void heaptrack_malloc(void* pointer, ::std::size_t size);                        \
  ALLOCTAP_EXPORT void heaptrack_realloc(void* old_pointer, ::std::size_t size,                    \
                                         void* new_pointer);                                       \
  ALLOCTAP_EXPORT void heaptrack_free(void* pointer);                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void heaptrack_malloc(void* pointer, ::std::size_t size) {     \
    ::alloctap::HeaptrackPool::allocate(pointer, size, ALLOCTAP_CALL_ORIGIN());                    \
  }                                                                                                \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void heaptrack_realloc(void* old_pointer, ::std::size_t size,  \
                                                           void* new_pointer) {                    \
    ::alloctap::HeaptrackPool::reallocate(old_pointer, size, new_pointer, ALLOCTAP_CALL_ORIGIN()); \
  }                                                                                                \
  ALLOCTAP_EXPORT void heaptrack_free(void* pointer) { ::alloctap::HeaptrackPool::free(pointer); } \
  }                                                                                                \
  static_assert(true)
