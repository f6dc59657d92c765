/* An allocator of an engine's own, in a library of its own. Which function allocates is found out
   when the library is loaded (backend case 8: the symbol is the resolver's). */
#include <stdlib.h>

#include "engine.h"

/* What it adds to each block, which is none of the program's affair. */
enum { kHeader = 16 };

static void *allocate(size_t count, size_t size) {
  char *block = malloc(count * size + kHeader);
  return block == NULL ? NULL : block + kHeader;
}

typedef void *Allocate(size_t count, size_t size);

static Allocate *choose_allocate(void) { return &allocate; }

void *engine_allocate(size_t count, size_t size) __attribute__((ifunc("choose_allocate")));

void engine_free(void *block) {
  if (block != NULL) free((char *)block - kHeader);
}
