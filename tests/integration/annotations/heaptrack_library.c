/* A library with a pool, which tells heaptrack of it. */
#include <heaptrack_api.h>

static char pool[1024];

void use_library_pool(void);
void use_library_pool(void) {
  heaptrack_report_alloc(pool, 100);
  heaptrack_report_alloc(pool + 128, 50);
  heaptrack_report_realloc(pool + 128, 70, pool + 256);
  heaptrack_report_free(pool);
}
