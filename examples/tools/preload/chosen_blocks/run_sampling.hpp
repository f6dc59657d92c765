/// The sampling of the objects that can be told which blocks to record, and which with their
/// stacks.
#pragma once

#include <alloctap/sample/adjustable_sampling.hpp>

#include "preload/kind_namespace.hpp"
#include "settings.hpp"

namespace alloctap::run::inline ALLOCTAP_RUN_KIND {

using RunSampling = AdjustableSampling;

/// Before the tracker starts.
inline void choose_blocks(const Settings& settings) noexcept {
  RunSampling::set({.mean_bytes = settings.mean_bytes,
                    .min_bytes = settings.min_size,
                    .max_bytes = settings.max_size});
}

}  // namespace alloctap::run::inline ALLOCTAP_RUN_KIND
