// As a program looks that a sanitizer's runtime is linked into: it has a malloc, and the runtime's
// functions.
#include <cstddef>
#include <cstdio>
#include <cstring>

extern "C" {

void* malloc(std::size_t size) {
  alignas(16) static char memory[1 << 20];
  static std::size_t used = 0;
  void* const block = memory + used;
  used += (size + 15) & ~std::size_t{15};
  return block;
}
void free(void*) {}
void* calloc(std::size_t count, std::size_t size) { return malloc(count * size); }
void* realloc(void* old, std::size_t size) {
  void* const block = malloc(size);
  return old == nullptr ? block : std::memcpy(block, old, size);
}

void __asan_init() {}
int __sanitizer_install_malloc_and_free_hooks(void*, void*) { return 0; }
}

int main() { std::puts("started"); }
