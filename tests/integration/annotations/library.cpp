// As a library annotates itself: it knows of no tracker.
#include <alloctap/annotate.hpp>

#include "work.h"

void library_work(void (*keep)(size_t)) {
  const alloctap::tag_scope tag{"Library"};
  const alloctap::allocations_allowed allowed;
  static char block[64];
  const alloctap::memory_pool pool{"Library"};
  pool.allocate(block, 8);
  pool.reallocate(block, block, sizeof block);
  pool.set_overhead(16);
  keep(200);
}
