/* A program that is not position-independent and takes malloc's address stands for it: in every
   module, the slot of its address holds a stub of the program's, which is no malloc. */
#include "engine.h"
#include "slot_probe.h"

int main(void) {
  /* In code: a word of data would be filled with the function's own address. */
  void *(*volatile address)(size_t) = malloc;
  void *block;
  REQUIRE(probe_install("alloctap_plt_engine_no_plt", NULL) == NULL);
  block = engine_allocate(1, 100);
  REQUIRE(probe_allocations() == 1);
  engine_free(block);
  REQUIRE(probe_frees() == 1);
  probe_uninstall();
  REQUIRE(probe_hooked_slots() == 0);
  engine_free(engine_allocate(1, 100));
  REQUIRE(probe_allocations() == 1);
  /* The program itself was not chosen. */
  free(address(10));
  return 0;
}
