/// Folded stacks: one line for each stack, for flame graphs.
///
/// `root;caller;leaf NUMBER`, as flamegraph.pl, speedscope, inferno and Perfetto read it. Several
/// lines may have equal frames (two addresses in one function): readers add their numbers.
#pragma once

#include "alloctap/dump/dumps.hpp"

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/folded_dump.hpp"
#endif
