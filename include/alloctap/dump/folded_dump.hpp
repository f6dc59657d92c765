/// Folded stacks: one line for each stack, for flame graphs.
///
/// A line is `root;caller;leaf NUMBER`, which flamegraph.pl, speedscope, inferno and Perfetto read.
/// Readers add up counts of lines with equal frames, such as two addresses in one function.
#pragma once

#include "alloctap/dump/dumps.hpp"

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/folded_dump.hpp"
#endif
