/// A record: all that a report has, in a compact binary form that `alloctap-convert` reads.
#pragma once

#include "alloctap/dump/dumps.hpp"

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/record_dump.hpp"
#endif
