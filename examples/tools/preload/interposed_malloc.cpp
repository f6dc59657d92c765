// The functions that stand in front of the allocator's, for the one tracker of this object.
#include <alloctap/hook/interposed_malloc.hpp>

#include "define_string_functions.hpp"
#include "run_tracker.hpp"
#include "tracker_kind.hpp"

using alloctap::run::RunTracker;
ALLOCTAP_DEFINE_INTERPOSED_MALLOC(RunTracker);

namespace alloctap::run {

void find_originals() noexcept {
  InterposedOriginals<::alloctap::SinkOf<RunTracker>>::find_all_once();
}

}  // namespace alloctap::run
