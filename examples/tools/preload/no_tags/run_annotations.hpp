/// What most objects hear of a program that includes alloctap/annotate.h: marks, pauses and fibers,
/// which cost the others nothing.
#pragma once

#include <alloctap/meta/pool_policy.hpp>
#include <alloctap/observe/observer.hpp>
#include <alloctap/tag/tag_policy.hpp>

#include "preload/kind_namespace.hpp"

namespace alloctap::run::inline ALLOCTAP_RUN_KIND {

using RunTags = NoTags;
using RunPools = NoPools;
using RunObservers = NoObservers;

}  // namespace alloctap::run::inline ALLOCTAP_RUN_KIND
