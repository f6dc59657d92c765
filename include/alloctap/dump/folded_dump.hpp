/// Folded stacks: a line for each stack, for flame graphs.
///
/// `root;caller;leaf NUMBER`, as flamegraph.pl, speedscope, inferno and Perfetto read it. Lines may
/// be the same but for the number (two addresses in one function): readers add them up.
#pragma once

#include "alloctap/dump/dumps.hpp"

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/folded_dump.hpp"
#endif
