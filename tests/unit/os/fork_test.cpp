#include <doctest/doctest.h>
#include <unistd.h>

#include "alloctap/os/process.hpp"
#include "tests/support/child_process.hpp"

namespace {

struct Calls {
  int prepare = 0;
  int parent = 0;
  int child = 0;
  bool operator==(const Calls&) const = default;
};

Calls calls;

}  // namespace

TEST_CASE("fork handlers run before in the parent, and after on their own side") {
  using alloctap::testing::holds_in_child;
  // Registered for ever, so in a process that is about to end.
  CHECK(holds_in_child([] {
    if (!alloctap::os::register_fork_handlers([] { ++calls.prepare; }, [] { ++calls.parent; },
                                              [] { ++calls.child; })) {
      return false;
    }
    const bool child_right = holds_in_child([] { return calls == Calls{1, 0, 1}; });
    return child_right && calls == Calls{1, 1, 0};
  }));
}
