/// Binary recording of a whole report, the input of `alloctap-convert`.
#pragma once

#include "alloctap/dump/dumps.hpp"

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/record_dump.hpp"
#endif
