// The one place that includes the system's headers, in the order that they need.
#pragma once

#include "alloctap/macros.hpp"
// macros.hpp says how much of it.
#include <windows.h>
// After it.
#include <winternl.h>
