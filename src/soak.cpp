// The bodies of game/ that look for growth and leftovers.
#include "alloctap/game/impl/growth_advisor.hpp"
#include "alloctap/game/impl/level_bracket.hpp"
#include "alloctap/game/impl/soak_detector.hpp"
