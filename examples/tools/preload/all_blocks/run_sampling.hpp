/// The sampling of the objects that record every block with its stack.
#pragma once

#include <alloctap/sample/sampling_policy.hpp>

#include "preload/kind_namespace.hpp"
#include "settings.hpp"

namespace alloctap::run::inline ALLOCTAP_RUN_KIND {

using RunSampling = EveryAllocation;

/// There is no choice: the launcher preloads this object where the settings choose all.
inline void choose_blocks(const Settings&) noexcept {}

}  // namespace alloctap::run::inline ALLOCTAP_RUN_KIND
