// A plug-in that allocates when it is closed.
#include <stdlib.h>

void *volatile block;

__attribute__((destructor)) static void allocate_at_end(void) { block = malloc(54321); }
