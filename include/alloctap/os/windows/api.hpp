/// Includes the system's headers in the order that they require. No other file includes them.
#pragma once

#include "alloctap/macros.hpp"
// macros.hpp defines which parts of windows.h it includes.
#include <windows.h>
// After windows.h.
#include <winternl.h>
