// The bodies of game/ for scopes that must not allocate.
#include "alloctap/game/impl/scope_annotations.hpp"
#include "alloctap/game/impl/scope_offences.hpp"
