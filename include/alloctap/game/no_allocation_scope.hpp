/// `no_allocation_scope` is in alloctap/annotate.hpp, for every file; what counts for it is
/// `AllocationScopes`. This header is for programs of 0.1, and goes with 0.3.
#pragma once

#include "alloctap/annotate.hpp"
#include "alloctap/game/allocation_scopes.hpp"

#pragma message( \
    "alloctap/game/no_allocation_scope.hpp goes with 0.3: include alloctap/annotate.hpp")
