// Two allocators of a program's own, each with a tracker of its own.
#include <alloctap/implement.hpp>
#include <alloctap/symbol/absl_symbolizer.hpp>
#include <iostream>
#include <memory_resource>
#include <string>
#include <vector>

#include "alloctap/status.hpp"
#include "frame_arena.hpp"
#include "tracked_resource.hpp"

struct FrameConfig : alloctap::DefaultConfig {
  using Hook = FrameHook;
  using Symbolizer = alloctap::AbslSymbolizer;
};
struct LevelConfig : alloctap::DefaultConfig {
  using Hook = LevelHook;
  using Symbolizer = alloctap::AbslSymbolizer;
};
using FrameTracker = alloctap::Tracker<FrameConfig>;
using LevelTracker = alloctap::Tracker<LevelConfig>;

namespace {

void simulate_particles(FrameArena& arena) {
  for (int i = 0; i < 64; ++i) arena.allocate(48, 16);
}

void load_meshes(std::pmr::vector<std::pmr::string>& meshes) {
  for (int i = 0; i < 16; ++i) meshes.emplace_back(1024, 'm');
}

/// A failed dump is reported, never thrown.
template <class Tracker>
bool report(const char* title) {
  std::cout << "== " << title << std::endl;
  const alloctap::Status status =
      Tracker::dump(alloctap::TextDump{.most_stacks = 3}, alloctap::DescriptorOutput(1));
  if (!status.ok()) std::cerr << status << '\n';
  return status.ok();
}

}  // namespace

int main() {
  const auto frame_session = FrameTracker::start();
  const auto level_session = LevelTracker::start();
  if (!frame_session.ok() || !level_session.ok()) {
    std::cerr << frame_session.status() << ' ' << level_session.status() << '\n';
    return 1;
  }

  FrameArena arena(1 << 20);
  TrackedResource resource(*std::pmr::new_delete_resource());
  std::pmr::vector<std::pmr::string> meshes(&resource);
  simulate_particles(arena);
  load_meshes(meshes);
  bool ok = report<FrameTracker>("frame arena, before the frame ends");
  arena.reset();
  ok = report<FrameTracker>("frame arena, after") && ok;
  ok = report<LevelTracker>("level resource") && ok;
  return ok ? 0 : 1;
}
