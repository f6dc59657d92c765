/* One library of `three_libraries`: FUNCTION allocates COUNT blocks of BYTES bytes. */
#include <stdlib.h>

static void* volatile keep;

void FUNCTION(void);
void FUNCTION(void) {
  for (int i = 0; i < COUNT; ++i) keep = malloc(BYTES);
}
