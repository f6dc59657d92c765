/// Interposed malloc, operator new and mmap families, for `InterposeHook`.
///
/// Has only the entry points, which run inside malloc; `call_wrapper.hpp` has the handlers. Entry
/// points are macros, not templates, because each needs its own C name and its own return address.
#pragma once

#include <cstdarg>
#include <cstddef>
#include <new>

#include "alloctap/hook/interpose_hook.hpp"
#include "alloctap/hook/module_unloading.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/mapping_calls.hpp"

// clang-format off
/// Defines malloc, operator new and delete, mmap and their relatives, mprotect, pkey_mprotect,
/// madvise and dlclose. `Tracker` is a type name in scope whose Hook is InterposeHook. Use at
/// global scope, in exactly one source file of the program. First declares the functions that no
/// standard header declares, because of -Wmissing-declarations.
#define ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker) \
  extern "C" {                                                                                   \
  ALLOCTAP_EXPORT void* memalign(std::size_t alignment, std::size_t size) noexcept;              \
  ALLOCTAP_EXPORT void* pvalloc(std::size_t size) noexcept;                                      \
  ALLOCTAP_EXPORT std::size_t malloc_usable_size(void* block) noexcept;                          \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* malloc(std::size_t size) noexcept {                    \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::allocate<::alloctap::functions::Malloc>(   \
        ALLOCTAP_CALL_ORIGIN(), size);                                                           \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* calloc(std::size_t count, std::size_t size) noexcept { \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::allocate<::alloctap::functions::Calloc>(   \
        ALLOCTAP_CALL_ORIGIN(), count, size);                                                    \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* realloc(void* old, std::size_t size) noexcept {        \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::reallocate<::alloctap::functions::Realloc>( \
        ALLOCTAP_CALL_ORIGIN(), old, size);                                                      \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* reallocarray(                                          \
      void* old, std::size_t count, std::size_t size) noexcept {                                 \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::reallocate<::alloctap::functions::Reallocarray>( \
        ALLOCTAP_CALL_ORIGIN(), old, count, size);                                               \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void free(void* block) noexcept {                            \
    ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::deallocate<::alloctap::functions::Free>(          \
        ALLOCTAP_CALL_ORIGIN(), block);                                                          \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* memalign(                                              \
      std::size_t alignment, std::size_t size) noexcept {                                        \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::allocate<::alloctap::functions::Memalign>( \
        ALLOCTAP_CALL_ORIGIN(), alignment, size);                                                \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* aligned_alloc(                                         \
      std::size_t alignment, std::size_t size) noexcept {                                        \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::allocate<::alloctap::functions::AlignedAlloc>( \
        ALLOCTAP_CALL_ORIGIN(), alignment, size);                                                \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE int posix_memalign(                                          \
      void** block, std::size_t alignment, std::size_t size) noexcept {                          \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::allocate_into<::alloctap::functions::PosixMemalign>( \
        ALLOCTAP_CALL_ORIGIN(), block, alignment, size);                                         \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* valloc(std::size_t size) noexcept {                    \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::allocate<::alloctap::functions::Valloc>(   \
        ALLOCTAP_CALL_ORIGIN(), size);                                                           \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* pvalloc(std::size_t size) noexcept {                   \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::allocate<::alloctap::functions::Pvalloc>(  \
        ALLOCTAP_CALL_ORIGIN(), size);                                                           \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE std::size_t malloc_usable_size(void* block) noexcept {       \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::measure(ALLOCTAP_CALL_ORIGIN(), block);    \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE char* strdup(const char* text) noexcept {                    \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::allocate<::alloctap::functions::Strdup>(   \
        ALLOCTAP_CALL_ORIGIN(), text);                                                           \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE char* strndup(const char* text, std::size_t most) noexcept { \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::allocate<::alloctap::functions::Strndup>(  \
        ALLOCTAP_CALL_ORIGIN(), text, most);                                                     \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* mmap(                                                  \
      void* address, std::size_t length, int protection, int flags, int file, off_t offset) noexcept { \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::map<::alloctap::functions::Mmap>(          \
        ALLOCTAP_CALL_ORIGIN(), address, length, protection, flags, file, offset);               \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* mmap64(                                                \
      void* address, std::size_t length, int protection, int flags, int file, off64_t offset) noexcept { \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::map<::alloctap::functions::Mmap64>(        \
        ALLOCTAP_CALL_ORIGIN(), address, length, protection, flags, file, offset);               \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE int munmap(void* address, std::size_t length) noexcept {     \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::unmap<::alloctap::functions::Munmap>(      \
        ALLOCTAP_CALL_ORIGIN(), address, length);                                                \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* mremap(                                                \
      void* old, std::size_t old_length, std::size_t length, int flags, ...) noexcept {          \
    std::va_list more;                                                                           \
    va_start(more, flags);                                                                       \
    void* const address = va_arg(more, void*);                                                   \
    va_end(more);                                                                                \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::remap<::alloctap::functions::Mremap>(      \
        ALLOCTAP_CALL_ORIGIN(), old, old_length, length, flags, address);                        \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE int mprotect(                                                \
      void* address, std::size_t length, int protection) noexcept {                              \
    return ::alloctap::InterposedPages<::alloctap::SinkOf<Tracker>>::protect(address, length, protection);     \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE int pkey_mprotect(                                           \
      void* address, std::size_t length, int protection, int key) noexcept {                     \
    return ::alloctap::InterposedPages<::alloctap::SinkOf<Tracker>>::protect_by_key(                           \
        address, length, protection, key);                                                       \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE int madvise(                                                 \
      void* address, std::size_t length, int advice) noexcept {                                  \
    return ::alloctap::InterposedPages<::alloctap::SinkOf<Tracker>>::advise(address, length, advice);          \
  }                                                                                              \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* operator new(std::size_t size) {                       \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::allocate<::alloctap::functions::New>(      \
        ALLOCTAP_CALL_ORIGIN(), size);                                                           \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* operator new(                                          \
      std::size_t size, const std::nothrow_t& tag) noexcept {                                    \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::allocate<::alloctap::functions::NewNothrow>( \
        ALLOCTAP_CALL_ORIGIN(), size, tag);                                                      \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* operator new(                                          \
      std::size_t size, std::align_val_t alignment) {                                            \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::allocate<::alloctap::functions::NewAligned>( \
        ALLOCTAP_CALL_ORIGIN(), size, alignment);                                                \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* operator new(                                          \
      std::size_t size, std::align_val_t alignment, const std::nothrow_t& tag) noexcept {        \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::allocate<::alloctap::functions::NewAlignedNothrow>( \
        ALLOCTAP_CALL_ORIGIN(), size, alignment, tag);                                           \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* operator new[](std::size_t size) {                     \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::allocate<::alloctap::functions::NewArray>( \
        ALLOCTAP_CALL_ORIGIN(), size);                                                           \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* operator new[](                                        \
      std::size_t size, const std::nothrow_t& tag) noexcept {                                    \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::allocate<::alloctap::functions::NewArrayNothrow>( \
        ALLOCTAP_CALL_ORIGIN(), size, tag);                                                      \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* operator new[](                                        \
      std::size_t size, std::align_val_t alignment) {                                            \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::allocate<::alloctap::functions::NewArrayAligned>( \
        ALLOCTAP_CALL_ORIGIN(), size, alignment);                                                \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void* operator new[](                                        \
      std::size_t size, std::align_val_t alignment, const std::nothrow_t& tag) noexcept {        \
    return ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::allocate<::alloctap::functions::NewArrayAlignedNothrow>( \
        ALLOCTAP_CALL_ORIGIN(), size, alignment, tag);                                           \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void operator delete(void* block) noexcept {                 \
    ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::deallocate<::alloctap::functions::Delete>(        \
        ALLOCTAP_CALL_ORIGIN(), block);                                                          \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void operator delete(                                        \
      void* block, std::size_t size) noexcept {                                                  \
    ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::deallocate<::alloctap::functions::DeleteSized>(   \
        ALLOCTAP_CALL_ORIGIN(), block, size);                                                    \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void operator delete(                                        \
      void* block, const std::nothrow_t& tag) noexcept {                                         \
    ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::deallocate<::alloctap::functions::DeleteNothrow>( \
        ALLOCTAP_CALL_ORIGIN(), block, tag);                                                     \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void operator delete(                                        \
      void* block, std::align_val_t alignment) noexcept {                                        \
    ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::deallocate<::alloctap::functions::DeleteAligned>( \
        ALLOCTAP_CALL_ORIGIN(), block, alignment);                                               \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void operator delete(                                        \
      void* block, std::size_t size, std::align_val_t alignment) noexcept {                      \
    ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::deallocate<::alloctap::functions::DeleteSizedAligned>( \
        ALLOCTAP_CALL_ORIGIN(), block, size, alignment);                                         \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void operator delete(                                        \
      void* block, std::align_val_t alignment, const std::nothrow_t& tag) noexcept {             \
    ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::deallocate<::alloctap::functions::DeleteAlignedNothrow>( \
        ALLOCTAP_CALL_ORIGIN(), block, alignment, tag);                                          \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void operator delete[](void* block) noexcept {               \
    ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::deallocate<::alloctap::functions::DeleteArray>(   \
        ALLOCTAP_CALL_ORIGIN(), block);                                                          \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void operator delete[](                                      \
      void* block, std::size_t size) noexcept {                                                  \
    ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::deallocate<::alloctap::functions::DeleteArraySized>( \
        ALLOCTAP_CALL_ORIGIN(), block, size);                                                    \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void operator delete[](                                      \
      void* block, const std::nothrow_t& tag) noexcept {                                         \
    ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::deallocate<::alloctap::functions::DeleteArrayNothrow>( \
        ALLOCTAP_CALL_ORIGIN(), block, tag);                                                     \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void operator delete[](                                      \
      void* block, std::align_val_t alignment) noexcept {                                        \
    ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::deallocate<::alloctap::functions::DeleteArrayAligned>( \
        ALLOCTAP_CALL_ORIGIN(), block, alignment);                                               \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void operator delete[](                                      \
      void* block, std::size_t size, std::align_val_t alignment) noexcept {                      \
    ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::deallocate<::alloctap::functions::DeleteArraySizedAligned>( \
        ALLOCTAP_CALL_ORIGIN(), block, size, alignment);                                         \
  }                                                                                              \
  ALLOCTAP_EXPORT ALLOCTAP_NOINLINE void operator delete[](                                      \
      void* block, std::align_val_t alignment, const std::nothrow_t& tag) noexcept {             \
    ::alloctap::InterposedCall<::alloctap::SinkOf<Tracker>>::deallocate<::alloctap::functions::DeleteArrayAlignedNothrow>( \
        ALLOCTAP_CALL_ORIGIN(), block, alignment, tag);                                          \
  }                                                                                              \
  extern "C" ALLOCTAP_EXPORT ALLOCTAP_NOINLINE int dlclose(void* handle) noexcept {              \
    return ::alloctap::InterposedModules<::alloctap::SinkOf<Tracker>>::close(handle);                          \
  } \
  static_assert(true, "")
// clang-format on
