// The bodies of game/ for scopes that must not allocate.
#include "alloctap/game/impl/allocation_scopes.hpp"
