/// Deprecated header of version 0.1, removed in 0.3: include the lighter testing/expectations.hpp.
#pragma once

#include "alloctap/testing/expectations.hpp"
#include "alloctap/testing/impl/expectations.hpp"

#pragma message( \
    "alloctap/testing/allocation_expectations.hpp goes with 0.3: include expectations.hpp")
