/// A report for programs: schema alloctap.heap/1, described in README.md beside this file.
#pragma once

#include "alloctap/dump/dumps.hpp"

#ifndef ALLOCTAP_COMPILED
#include "alloctap/dump/impl/json_dump.hpp"
#endif
