// Holds blocks of three kinds to its end. One kind it names itself, to whoever looks for leaks.
#include <cstddef>
#include <cstdlib>

extern "C" {
const char* __lsan_default_suppressions();
const char* __lsan_default_suppressions() { return "# by intent\nleak:keep_in_cache\n"; }
}

namespace {

/// Keeps the compiler from knowing what a pointer is good for.
void* escape(void* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

}  // namespace

#define FUNCTION extern "C" __attribute__((noinline, visibility("default"))) void

FUNCTION keep_in_cache() { escape(std::malloc(70)); }
FUNCTION grow_pool() { escape(std::malloc(1000)); }
FUNCTION forget_block() { escape(std::malloc(500)); }

/// Forgets one block more for each argument.
int main(int argc, char**) {
  keep_in_cache();
  for (int i = 0; i < 3; ++i) grow_pool();
  for (int i = 0; i < 1 + argc; ++i) forget_block();
  return 0;
}
