/// Deprecated forwarding header of version 0.1, removed in 0.3: include alloctap/annotate.hpp for
/// `no_allocation_scope`. The observer is `AllocationScopes`.
#pragma once

#include "alloctap/annotate.hpp"
#include "alloctap/game/allocation_scopes.hpp"

#pragma message( \
    "alloctap/game/no_allocation_scope.hpp goes with 0.3: include alloctap/annotate.hpp")
