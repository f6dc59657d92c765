/* A program with a pool, which tells heaptrack of it in the way that there is for programs. */
#define HEAPTRACK_API_DLSYM
#include <heaptrack_api.h>
#include <stdio.h>

#include "work.h"

static char pool[1024];

void use_library_pool(void);

int main(void) {
  start_tracker();
  heaptrack_report_alloc(pool, 1000);
  use_library_pool();
  report();
  puts("done");
  return 0;
}
