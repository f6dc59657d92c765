/// speedscope's file format (github.com/jlfwong/speedscope, src/lib/file-format-spec.ts).
#pragma once

#include "alloctap/dump/dumps.hpp"

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/speedscope_dump.hpp"
#endif
