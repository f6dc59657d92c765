// The plug-in: plans a path in each frame, and remembers the last ones.
#include <array>
#include <memory>
#include <vector>

namespace game {
namespace {

using Path = std::vector<int>;

std::array<std::unique_ptr<Path>, 16> plans;

std::unique_ptr<Path> plan(int frame) {
  auto path = std::make_unique<Path>();
  for (int step = 0; step < 10 + frame % 50; ++step) path->push_back(step * frame);
  return path;
}

}  // namespace
}  // namespace game

extern "C" void think(int frame) {
  game::plans[static_cast<std::size_t>(frame) % game::plans.size()] = game::plan(frame);
}

extern "C" void forget() {
  for (auto& path : game::plans) path.reset();
}
