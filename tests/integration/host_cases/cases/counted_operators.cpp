// Expected: the same counts. A program sees every call of its operators; none of them is ours.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
static int news, deletes;
static void* make(std::size_t size) {
  ++news;
  return std::malloc(size);
}
static void drop(void* block) {
  ++deletes;
  std::free(block);
}
void* operator new(std::size_t size) { return make(size); }
void* operator new[](std::size_t size) { return make(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return make(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return make(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  ++news;
  return std::aligned_alloc(static_cast<std::size_t>(alignment), size);
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  ++news;
  return std::aligned_alloc(static_cast<std::size_t>(alignment), size);
}
void operator delete(void* block) noexcept { drop(block); }
void operator delete[](void* block) noexcept { drop(block); }
void operator delete(void* block, std::size_t) noexcept { drop(block); }
void operator delete[](void* block, std::size_t) noexcept { drop(block); }
void operator delete(void* block, std::align_val_t) noexcept { drop(block); }
void operator delete[](void* block, std::align_val_t) noexcept { drop(block); }
static void show(const char* when) { std::printf("%s: %d new, %d delete\n", when, news, deletes); }
__attribute__((destructor)) static void at_the_end() { show("end"); }
int main() {
  show("start");
  {
    std::string text(100, 'x');
  }
  show("string");
}
