#include <doctest/doctest.h>

#include "alloctap/annotate.h"
#include "alloctap/event/offered_annotations.hpp"
#include "tests/support/child_process.hpp"

using alloctap::OfferedAnnotations;

namespace {

constexpr alloctap_scope_functions kOthers{};
constexpr alloctap_scope_functions kOffered{};

alloctap_slots slots_with(const alloctap_scope_functions* scopes) {
  alloctap_slots slots{};
  slots.scopes = scopes;
  return slots;
}

bool has(const alloctap_scope_functions& functions) {
  return ALLOCTAP_OFFERED(scope) == &functions;
}

}  // namespace

// In a child process: what a module has once stays.
TEST_CASE("what is withheld is taken from modules, unless it is offered") {
  CHECK(alloctap::testing::holds_in_child([] {
    // Those of trackers that other tests started.
    OfferedAnnotations::withhold(slots_with(ALLOCTAP_OFFERED(scope)));
    OfferedAnnotations::offer(slots_with(&kOthers));
    if (!has(kOthers)) return false;
    OfferedAnnotations::offer(slots_with(&kOffered));
    if (!has(kOthers)) return false;
    OfferedAnnotations::withhold(slots_with(&kOthers));
    OfferedAnnotations::offer_to_new_modules();
    if (!has(kOffered)) return false;
    OfferedAnnotations::withhold(slots_with(&kOffered));
    OfferedAnnotations::offer_to_new_modules();
    return has(kOffered);
  }));
}
