/// Android's native heap dump, version 1.2 (bionic, libc/malloc_debug/PointerData.cpp), which
/// native_heapdump_viewer.py reads.
#pragma once

#include "alloctap/dump/dumps.hpp"

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/android_heap_dump.hpp"
#endif
