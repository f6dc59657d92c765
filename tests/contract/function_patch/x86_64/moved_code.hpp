/// As relocation tests of all processors include it.
#pragma once

#include "tests/support/moved_code.hpp"
