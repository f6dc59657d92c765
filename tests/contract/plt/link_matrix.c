/* Backend cases 1 (link matrix), 2 (all kinds of slots), 8 (lazy slots), 9 (protections):
   compiled and linked in many ways. */
#include <string.h>

#include "slot_probe.h"

/* A word of data that holds a function, and one that holds something behind it. */
static void* (*volatile from_data)(size_t) = malloc;
static char* volatile behind_malloc = (char*)malloc + 8;

static void* volatile keep;

static void allocate_everywhere(void) {
  keep = malloc(10);
  free(keep);
  keep = from_data(20);
  keep = realloc(keep, 4000);
  free(keep);
  keep = calloc(3, 7);
  free(keep);
  /* Bound on its first call, which may be the one that is hooked. */
  keep = strdup("a copy");
  free(keep);
  keep = aligned_alloc(64, 640);
  free(keep);
}

int main(void) {
  char* const before = probe_maps();
  char* const addend = behind_malloc;
  void* (*const pointer)(size_t) = from_data;
  REQUIRE(probe_install("link_matrix_", NULL) == NULL);
  REQUIRE(probe_hooked_slots() >= 5);
  allocate_everywhere();
  REQUIRE(probe_allocations() == 6);
  REQUIRE(probe_frees() == 5);
  REQUIRE(probe_reallocations() == 1);
  REQUIRE(behind_malloc == addend);
  REQUIRE(strcmp(probe_warning(), "") == 0);

  probe_uninstall();
  allocate_everywhere();
  REQUIRE(probe_allocations() == 6);
  REQUIRE(probe_frees() == 5);
  REQUIRE(from_data == pointer);
  REQUIRE(probe_hooked_slots() == 0);
  char* const after = probe_maps();
  if (strcmp(before, after) != 0) fprintf(stderr, "%s---\n%s", before, after);
  REQUIRE(strcmp(before, after) == 0);

  /* Again: all slots were left as they can be hooked. */
  REQUIRE(probe_install("link_matrix_", NULL) == NULL);
  allocate_everywhere();
  REQUIRE(probe_allocations() == 12);
  probe_uninstall();
  return 0;
}
