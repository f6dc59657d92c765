/// `fiber_scope` is in alloctap/annotate.hpp, for every file. This header is for programs of 0.1,
/// and goes with 0.3.
#pragma once

#include "alloctap/annotate.hpp"
#include "alloctap/stack/fibers.hpp"

#pragma message("alloctap/stack/fiber_scope.hpp goes with 0.3: include alloctap/annotate.hpp")
