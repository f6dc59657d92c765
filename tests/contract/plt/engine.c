/* An allocator of an engine's own, in a library of its own. */
#include <stdlib.h>

#include "engine.h"

/* What it adds to each block, which is none of the program's affair. */
enum { kHeader = 16 };

void *engine_allocate(size_t count, size_t size) {
  char *block = malloc(count * size + kHeader);
  return block == NULL ? NULL : block + kHeader;
}

void engine_free(void *block) {
  if (block != NULL) free((char *)block - kHeader);
}
