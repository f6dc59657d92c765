/// The tracker that looks for leaks in the library's own tests.
#pragma once

#include "alloctap/hook/interpose_hook.hpp"
#include "alloctap/implement.hpp"
#include "alloctap/symbol/libdw_symbolizer.hpp"

namespace alloctap::testing {

/// Counts for no scope: scopes count what every tracker with `AllocationScopes` sees, and the tests
/// have such trackers.
struct SuiteConfig : DefaultConfig {
  using Hook = InterposeHook;
  using Symbolizer = LibdwSymbolizer;
  using Tags = InheritedTags;
};
using SuiteTracker = Tracker<SuiteConfig>;

}  // namespace alloctap::testing
