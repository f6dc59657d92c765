/// The JSON of Tencent Matrix's memory hook (matrix-hooks, memory/MemoryHook.cpp).
#pragma once

#include "alloctap/dump/dumps.hpp"

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/matrix_dump.hpp"
#endif
