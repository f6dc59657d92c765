/// The functions of strings and of memory of the object that checks them.
#pragma once

#include <alloctap/hook/interposed_strings.hpp>

#include "run_tracker.hpp"

ALLOCTAP_DEFINE_INTERPOSED_STRINGS(::alloctap::run::RunTracker);
