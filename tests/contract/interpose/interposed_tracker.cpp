#include "interposed_tracker.hpp"

#include <cstdlib>

#include "alloctap/hook/interposed_malloc.hpp"

ALLOCTAP_DEFINE_INTERPOSED_MALLOC(alloctap::testing::InterposedTracker);

namespace alloctap::testing {
namespace {

Snapshot now() {
  absl::StatusOr<Snapshot> snapshot = InterposedTracker::snapshot();
  if (!snapshot.ok()) std::abort();
  return *std::move(snapshot);
}

}  // namespace

EventCount::EventCount() : start_(now()) {}

Difference EventCount::so_far() const {
  const Snapshot end = now();
  return {.allocations = end.totals.allocations - start_.totals.allocations,
          .deallocations = end.totals.deallocations - start_.totals.deallocations,
          .allocated_bytes = end.totals.allocated_bytes - start_.totals.allocated_bytes,
          .live_bytes = end.totals.live_bytes - start_.totals.live_bytes,
          .unmatched_frees = *end.account.unmatched_frees - *start_.account.unmatched_frees};
}

}  // namespace alloctap::testing
