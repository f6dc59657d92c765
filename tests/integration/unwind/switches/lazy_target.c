/* Its function is chosen when it is first called, inside the loader's _dl_runtime_resolve. */
#include <stdlib.h>

static int add(int x) { return x + 1; }

typedef int Add(int);

static Add* choose(void) {
  void* volatile block = malloc(32);
  free(block);
  return &add;
}

int chosen_when_called(int x) __attribute__((ifunc("choose")));
