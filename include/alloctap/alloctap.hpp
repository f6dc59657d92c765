/// What the files of a program include that start a tracker, write reports and ask for numbers:
/// declarations, light. One file of the program includes implement.hpp as well.
#pragma once

#include "alloctap/annotate.hpp"
#include "alloctap/dump/dumps.hpp"
#include "alloctap/dump/outputs.hpp"
#include "alloctap/session.hpp"
#include "alloctap/snapshot/snapshot_options.hpp"
#include "alloctap/status.hpp"
#include "alloctap/tracker.hpp"
#include "alloctap/version.hpp"
