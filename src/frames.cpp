// The bodies of game/ that keep frames and budgets.
#include "alloctap/game/impl/budget_table.hpp"
#include "alloctap/game/impl/game_frame_log.hpp"
#include "alloctap/game/impl/thread_frames.hpp"
