/// The base config of a tracker for tests.
#pragma once

#include "alloctap/config.hpp"
#include "alloctap/game/allocation_scopes.hpp"
#include "alloctap/tag/inherited_tags.hpp"

namespace alloctap::testing {

/// A config that attributes memory to test cases and counts allocations per thread, as the
/// functions in testing/ require. Derive from it and choose the hook and the symbolizer:
///
///     struct Config : alloctap::testing::TestConfig {
///       using Hook = alloctap::InterposeHook;
///       using Symbolizer = alloctap::LibdwSymbolizer;
///     };
///     using Tracker = alloctap::Tracker<Config>;
///     ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker);
struct TestConfig : DefaultConfig {
  using Tags = InheritedTags;
  using Observers = AllocationScopes;
};

}  // namespace alloctap::testing
