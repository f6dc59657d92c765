// Around the loop of a game in README.md.
#include <alloctap/game/allocation_scopes.hpp>
#include <alloctap/game/budgets.hpp>
#include <alloctap/hook/interposed_malloc.hpp>
#include <alloctap/implement.hpp>
#include <alloctap/observe/observers.hpp>

struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::InterposeHook;
  using Tags = alloctap::ScopedTags;
  using Observers = alloctap::Observers<alloctap::Frames, alloctap::AllocationScopes>;
};
ALLOCTAP_DEFINE_INTERPOSED_MALLOC(alloctap::Tracker<Config>);

static int frames_left = 10;
static bool running() { return frames_left-- > 0; }
static void update() {}
static void draw() {}

int main() {
  const auto session = alloctap::Tracker<Config>::start();
  // The page's lines.
  return session.ok() && frames_left < 0 ? 0 : 1;
}
