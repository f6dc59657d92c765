/// What the object of --tags hears of a program that includes alloctap/annotate.h: all.
#pragma once

#include <alloctap/game/allocation_scopes.hpp>
#include <alloctap/game/frames.hpp>
#include <alloctap/named_pools.hpp>
#include <alloctap/observe/observers.hpp>
#include <alloctap/tag/scoped_tags.hpp>

#include "preload/kind_namespace.hpp"

namespace alloctap::run::inline ALLOCTAP_RUN_KIND {

using RunTags = ScopedTags;
using RunPools = NamedPools;
using RunObservers = Observers<Frames, AllocationScopes>;

}  // namespace alloctap::run::inline ALLOCTAP_RUN_KIND
