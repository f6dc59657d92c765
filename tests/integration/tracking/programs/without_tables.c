// A program with frame pointers and without unwind tables, as browsers are built.
#include <stdlib.h>

#define STAY() __asm__ volatile("" : : : "memory")

static void* volatile block;

__attribute__((noinline)) static void leaf(void) {
  block = malloc(1001);
  STAY();
}

__attribute__((noinline)) static void inner(void) {
  leaf();
  STAY();
}

static int compare(const void* left, const void* right) {
  static int calls;
  if (calls++ == 0) inner();
  return *(const int*)left - *(const int*)right;
}

__attribute__((noinline)) static void outer(void) {
  int numbers[] = {2, 1};
  qsort(numbers, 2, sizeof numbers[0], compare);
  STAY();
}

int main(void) {
  outer();
  return 0;
}
