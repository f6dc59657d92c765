/// Android's native heap dump, version 1.2, the input of native_heapdump_viewer.py.
#pragma once

#include "alloctap/dump/dumps.hpp"

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/android_heap_dump.hpp"
#endif
