// An allocator behind the interposed one, so that a test sees what reaches it.
#include "counting_malloc.hpp"

#include <atomic>
#include <cstddef>

extern "C" {

// glibc's own.
void* __libc_malloc(std::size_t size) noexcept;
void* __libc_calloc(std::size_t count, std::size_t size) noexcept;
void* __libc_realloc(void* block, std::size_t size) noexcept;
void __libc_free(void* block) noexcept;

static std::atomic<std::size_t> calls{0};

std::size_t calls_of_the_original() noexcept { return calls; }

void* malloc(std::size_t size) noexcept {
  ++calls;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  ++calls;
  return __libc_calloc(count, size);
}
void* realloc(void* block, std::size_t size) noexcept {
  ++calls;
  return __libc_realloc(block, size);
}
void free(void* block) noexcept {
  ++calls;
  __libc_free(block);
}
}
