/// What the files of this game know of its tracker.
#pragma once

#include <alloctap/alloctap.hpp>

struct GameConfig;
using Tracker = alloctap::Tracker<GameConfig>;

/// A second tracker, which the same file implements.
struct ToolConfig;
using ToolTracker = alloctap::Tracker<ToolConfig>;

/// Allocates 100 textures of 4096 bytes; false where the report of it cannot be written.
bool load_level(alloctap::OutputRef report);
/// Frees them.
void leave_level();
