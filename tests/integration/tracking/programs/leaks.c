// Holds blocks of three kinds to its end. One kind it names itself, to whoever looks for leaks.
#include <stdlib.h>

const char* __lsan_default_suppressions(void);
const char* __lsan_default_suppressions(void) { return "# by intent\nleak:keep_in_cache\n"; }

/// Keeps the compiler from knowing what a pointer is good for.
static void escape(void* pointer) { __asm__ volatile("" : "+r"(pointer) : : "memory"); }

__attribute__((noinline)) static void keep_in_cache(void) { escape(malloc(70)); }
__attribute__((noinline)) static void grow_pool(void) { escape(malloc(1000)); }
__attribute__((noinline)) static void forget_block(void) { escape(malloc(500)); }

/// Forgets one block more for each argument.
int main(int argc, char** argv) {
  (void)argv;
  keep_in_cache();
  for (int i = 0; i < 3; ++i) grow_pool();
  for (int i = 0; i < 1 + argc; ++i) forget_block();
  return 0;
}
