/// pprof's format: a gzipped protocol buffer that profile stores and `go tool pprof` read.
#pragma once

#include "alloctap/dump/dumps.hpp"

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/pprof_dump.hpp"
#endif
