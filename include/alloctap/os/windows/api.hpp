/// Includes the system's headers in the order that they require. No other file includes them.
#pragma once

#include "alloctap/macros.hpp"
// macros.hpp defines macros that select what windows.h declares.
#include <windows.h>
// winternl.h requires windows.h.
#include <winternl.h>
