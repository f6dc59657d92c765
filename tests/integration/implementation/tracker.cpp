#include <alloctap/hook/interposed_malloc.hpp>
#include <alloctap/implement.hpp>

#include "game.hpp"

struct GameConfig : alloctap::DefaultConfig {
  using Hook = alloctap::InterposeHook;
};
struct ToolConfig : alloctap::DefaultConfig {
  using Hook = alloctap::ManualHook<ToolConfig>;
};
ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker);
ALLOCTAP_IMPLEMENT(Tracker, alloctap::TextDump, alloctap::FoldedDump);
ALLOCTAP_IMPLEMENT(ToolTracker, alloctap::TextDump);
