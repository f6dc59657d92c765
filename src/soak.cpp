// The bodies of game/ that look for growth and leftovers.
#include "alloctap/game/impl/growth_advisor.hpp"
#include "alloctap/game/impl/growth_series.hpp"
#include "alloctap/game/impl/growth_test.hpp"
#include "alloctap/game/impl/level_leftovers.hpp"
#include "alloctap/game/impl/soak_detector.hpp"
#include "alloctap/game/impl/thread_frames.hpp"
