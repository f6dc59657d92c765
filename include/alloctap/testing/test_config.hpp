/// What a tracker of tests is made of.
#pragma once

#include "alloctap/config.hpp"
#include "alloctap/game/allocation_scopes.hpp"
#include "alloctap/tag/inherited_tags.hpp"

namespace alloctap::testing {

/// What the functions of testing/ need of a tracker: memory is put down to test cases, and what a
/// thread allocates is counted. Derive from it and name the hook and the symbolizer:
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
