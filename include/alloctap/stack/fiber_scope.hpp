/// A deprecated header of version 0.1, removed in 0.3: `fiber_scope` is in alloctap/annotate.hpp.
#pragma once

#include "alloctap/annotate.hpp"
#include "alloctap/stack/fibers.hpp"

#pragma message("alloctap/stack/fiber_scope.hpp goes with 0.3: include alloctap/annotate.hpp")
