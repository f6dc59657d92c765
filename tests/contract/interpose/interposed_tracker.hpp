/// The tracker that stands behind malloc in these programs.
#pragma once

#include "alloctap/hook/interpose_hook.hpp"
#include "alloctap/impl/tracker.hpp"
#include "alloctap/stack/stack_capture.hpp"
#include "tests/contract/hooks/hooked_program.hpp"

namespace alloctap::testing {

struct InterposeConfig : DefaultConfig {
  using Hook = InterposeHook;
  using Stack = NoStack;
};
using InterposedTracker = Tracker<InterposeConfig>;

}  // namespace alloctap::testing
