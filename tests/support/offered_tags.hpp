/// The functions of tags of annotate.h, for tests without a tracker.
#pragma once

#include "alloctap/event/offered_annotations.hpp"
#include "alloctap/tag/tag_scope.hpp"

namespace alloctap::testing {

/// From before main, as a tracker offers them when it starts.
inline const bool kOffersTags = [] {
  alloctap_slots slots{};
  slots.tags = &alloctap_tags;
  OfferedAnnotations::offer(slots);
  return true;
}();

}  // namespace alloctap::testing
