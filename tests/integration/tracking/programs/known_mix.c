// known_mix: allocates in known ways, so that other tools can be asked what they saw. In C, because
// tools write the names of C++ in different ways.
//
//   keeps               1000 blocks of 100 to 1099 bytes stay
//   wastes              100000 blocks of 33 bytes are freed before the next one is allocated
//   returns             50 times 100 blocks of 1 to 100 bytes are freed when all are there
//   peaks               30 blocks of 1 MiB are there at once, and then not
//   returns_alike       50 times 10 blocks of 64 bytes are freed when all are there
#include <stddef.h>
#include <stdlib.h>

static void* volatile sink = NULL;

/// One call site for each way; inlined into it, so that its name is one of an inlined function.
static inline __attribute__((always_inline)) void* allocate(size_t size) {
  void* block = malloc(size);
  sink = block;
  return block;
}

__attribute__((noinline)) static void keeps(void) {
  for (size_t i = 0; i < 1000; ++i) *(char*)allocate(100 + i) = 1;
}

__attribute__((noinline)) static void wastes(void) {
  for (int i = 0; i < 100000; ++i) free(allocate(33));
}

__attribute__((noinline)) static void returns(size_t first, size_t growth, int count) {
  void* blocks[100];
  for (int i = 0; i < count; ++i) {
    blocks[i] = allocate(first + growth * (size_t)i);
  }
  for (int i = 0; i < count; ++i) free(blocks[i]);
}

__attribute__((noinline)) static void returns_alike(void) {
  for (int i = 0; i < 50; ++i) returns(64, 0, 10);
  sink = NULL;
}

__attribute__((noinline)) static void peaks(void) {
  returns(1 << 20, 0, 30);
  sink = NULL;
}

int main(void) {
  keeps();
  wastes();
  for (int i = 0; i < 50; ++i) returns(1, 1, 100);
  returns_alike();
  peaks();
  return 0;
}
