/// DHAT's data file: JSON, version 2, for valgrind's dh_view.html from 3.17 on.
#pragma once

#include "alloctap/dump/dumps.hpp"

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/dhat_dump.hpp"
#endif
