/// Umbrella header of declarations for files that start a tracker, write reports or read snapshots.
/// One source file of the program also includes implement.hpp.
#pragma once

#include "alloctap/annotate.hpp"
#include "alloctap/dump/dumps.hpp"
#include "alloctap/dump/outputs.hpp"
#include "alloctap/session.hpp"
#include "alloctap/snapshot/snapshot_options.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tracker.hpp"
#include "alloctap/version.hpp"
