/// The functions of tags and fibers of annotate.h, for tests without a tracker.
#pragma once

#include "alloctap/event/offered_annotations.hpp"
#include "alloctap/stack/fibers.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap::testing {

/// From before main, as a tracker offers them when it starts.
inline const bool kOffersAnnotations = [] {
  alloctap_slots slots{};
  slots.tags = &alloctap_tags;
  slots.fibers = &alloctap_fibers;
  OfferedAnnotations::offer(slots);
  return true;
}();

}  // namespace alloctap::testing
