/* Backend case 16: a slot that another tool has changed, after the hook or before it, stays that
   tool's; the calls go on as it wants. */
#include "slot_probe.h"

static void* volatile keep;
static void* (*volatile slot)(size_t) = malloc;

static void* others_malloc(size_t size) { return calloc(1, size); }

static unsigned long count_calls(void) {
  const unsigned long before = probe_allocations();
  keep = slot(100);
  free(keep);
  return probe_allocations() - before;
}

int main(void) {
  /* Not asked for later: the word that tells may be a slot that is hooked. */
  void* (*volatile allocators)(size_t) = malloc;
  REQUIRE(probe_install("other_tools", NULL) == NULL);
  REQUIRE(count_calls() == 1);
  void* (*const ours)(size_t) = slot;
  /* After: its function calls through slots of the program, so this is one event too. */
  slot = &others_malloc;
  REQUIRE(count_calls() == 1);
  probe_uninstall();
  REQUIRE(slot == &others_malloc);
  REQUIRE(ours != slot);
  REQUIRE(count_calls() == 0);
  /* Before. */
  REQUIRE(probe_install("other_tools", NULL) == NULL);
  REQUIRE(slot == &others_malloc);
  probe_uninstall();
  REQUIRE(slot == &others_malloc);
  /* What was left alone can be hooked again when it is the allocator's. */
  slot = malloc;
  REQUIRE(probe_install("other_tools", NULL) == NULL);
  REQUIRE(slot != allocators);
  REQUIRE(count_calls() == 1);
  probe_uninstall();
  REQUIRE(count_calls() == 0);
  return 0;
}
