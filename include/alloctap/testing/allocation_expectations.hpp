/// testing/expectations.hpp is the light one, for files with tests. This header is for programs of
/// 0.1, and goes with 0.3.
#pragma once

#include "alloctap/testing/expectations.hpp"
#include "alloctap/testing/impl/expectations.hpp"

#pragma message( \
    "alloctap/testing/allocation_expectations.hpp goes with 0.3: include expectations.hpp")
