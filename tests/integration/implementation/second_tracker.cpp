/// A mistake: tracker.cpp implements the same tracker.
#include <alloctap/hook/interposed_malloc.hpp>
#include <alloctap/implement.hpp>

#include "game.hpp"

struct GameConfig : alloctap::DefaultConfig {
  using Hook = alloctap::InterposeHook;
};
ALLOCTAP_IMPLEMENT(Tracker, alloctap::TextDump);
