/// massif's data file, for ms_print and massif-visualizer.
#pragma once

#include "alloctap/dump/dumps.hpp"

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/massif_dump.hpp"
#endif
