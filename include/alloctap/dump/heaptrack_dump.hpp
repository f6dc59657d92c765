/// heaptrack's data file: text, format 3, for heaptrack_gui and heaptrack_print from 1.4 on.
#pragma once

#include "alloctap/dump/dumps.hpp"

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/heaptrack_dump.hpp"
#endif
