// As a library annotates itself: it knows of no tracker.
#include <alloctap/annotate.hpp>

#include "work.h"

void library_work(void (*keep)(size_t)) {
  const alloctap::tag_scope tag{"Library"};
  const alloctap::allocations_allowed allowed;
  keep(200);
}
