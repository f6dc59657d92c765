#include "alloctap/event/offered_annotations.hpp"

#include <doctest/doctest.h>

#include "alloctap/annotate.h"
#include "alloctap/stack/fibers.hpp"

namespace {

using alloctap::annotated_text;
using alloctap::OfferedAnnotations;

}  // namespace

TEST_CASE("a module has what is offered, and keeps what it had before") {
  alloctap_slots slots{};
  slots.fibers = &alloctap_fibers;
  OfferedAnnotations::offer(slots);
  CHECK(ALLOCTAP_OFFERED(fiber) == &alloctap_fibers);
  static constexpr alloctap_fiber_functions kOthers = alloctap_fibers;
  slots.fibers = &kOthers;
  OfferedAnnotations::offer(slots);
  CHECK(ALLOCTAP_OFFERED(fiber) == &alloctap_fibers);
  slots.fibers = &alloctap_fibers;
  OfferedAnnotations::offer(slots);
}

TEST_CASE("a text has a length, or ends in a zero, or is none") {
  CHECK(annotated_text("Physics", 4) == "Phys");
  CHECK(annotated_text("Physics", ALLOCTAP_ENDS_IN_ZERO) == "Physics");
  CHECK(annotated_text(nullptr, 4).empty());
  CHECK(annotated_text(nullptr, ALLOCTAP_ENDS_IN_ZERO).empty());
}
