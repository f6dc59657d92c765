// A game without a screen: entities, jobs on other threads, a plug-in that is built and loaded anew
// while the game runs, an arena for each frame. Two things are wrong with it, and it names both:
// frame 1,000 loads 64 MB at once, and the chat forgets nothing, 100 bytes in each frame.
//
// usage: game_loop PLUGIN [REPORT.html]
#include <alloctap/dump/html_dump.hpp>
#include <alloctap/game/allocation_scopes.hpp>
#include <alloctap/game/budgets.hpp>
#include <alloctap/game/soak_detector.hpp>
#include <alloctap/hook/interposed_malloc.hpp>
#include <alloctap/implement.hpp>
#include <alloctap/message_text.hpp>
#include <alloctap/observe/observers.hpp>
#include <alloctap/symbol/libdw_symbolizer.hpp>
#include <array>
#include <iostream>
#include <string>

#include "alloctap/status.hpp"
#include "frame_arena.hpp"
#include "job_threads.hpp"
#include "plugin.hpp"
#include "world.hpp"

struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::InterposeHook;
  using Tags = alloctap::ScopedTags;
  using Observers = alloctap::Observers<alloctap::Frames, alloctap::AllocationScopes>;
  using Symbolizer = alloctap::LibdwSymbolizer;
};
using Tracker = alloctap::Tracker<Config>;
ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker);

namespace {

constexpr int kFrames = 2000;

// The innermost function of the game's own.
std::string place_of(alloctap::StackId stack) {
  const auto names = Tracker::name_stacks(std::array{stack});
  if (!names.ok()) return to_string(names.status());
  for (const alloctap::NamedFrame& frame : names->frames(stack)) {
    if (frame.function.find("game::") == 0) return std::string(frame.function);
  }
  return "not known";
}

void update(game::World& world, game::JobThreads& jobs, game::Plugin& plugin, FrameArena& arena,
            int frame) {
  const alloctap::tag_scope tag{"Game"};
  {
    const alloctap::tag_scope physics{"Physics"};
    jobs.run([&world] { world.collide(); });
  }
  {
    const alloctap::tag_scope thinking{"AI"};
    plugin.think(frame);
  }
  {
    const alloctap::tag_scope chat{"Chat"};
    world.say();
  }
  if (frame == 1000) {
    const alloctap::tag_scope streaming{"Streaming"};
    world.load_terrain(64 << 20);
  }
  {
    // Drawing takes its memory from the arena, and nothing else.
    const alloctap::no_allocation_scope drawing{"draw"};
    world.draw(arena);
  }
  arena.reset();
}

void print_worst(const alloctap::Snapshot& snapshot) {
  const auto& worst =
      snapshot.frames.worst[static_cast<std::size_t>(alloctap::FrameMeasure::kBytes)];
  if (worst.empty()) return;
  const alloctap::WorstFrame& frame = worst[0];
  std::cout << "frame " << frame.number << " allocated most: " << frame.counts.allocated_bytes
            << " bytes, most by " << place_of(frame.stacks[0].stack) << '\n';
}

void print_offences(const alloctap::Snapshot& snapshot) {
  for (const alloctap::BudgetOffence& offence : snapshot.frames.offences) {
    std::cout << "frame " << offence.frame << ": " << offence.tag_name << " has "
              << name_of(offence.kind) << " of " << offence.value << ", " << offence.limit
              << " are allowed, by " << place_of(offence.stack) << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: game_loop PLUGIN [REPORT.html]\n";
    return 2;
  }
  const auto session = Tracker::start();
  if (!session.ok()) {
    std::cerr << session.status() << '\n';
    return 1;
  }
  alloctap::set_budget("Game/Streaming", {.held_bytes = 16 << 20}).ignore_error();
  alloctap::set_budget("Game/Physics", {.allocations_per_frame = 1000}).ignore_error();

  game::World world;
  game::JobThreads jobs{2};
  game::Plugin plugin{argv[1]};
  FrameArena arena{1 << 16};
  alloctap::SoakDetector soak;
  alloctap::frame_mark();
  for (int frame = 1; frame <= kFrames; ++frame) {
    if (frame % 500 == 0) plugin.reload();
    update(world, jobs, plugin, arena, frame);
    alloctap::frame_mark();
    if (frame % 20 != 0) continue;
    const auto mark = Tracker::snapshot();
    if (mark.ok()) soak.add(*mark).ignore_error();
  }

  const auto snapshot = Tracker::snapshot();
  const auto suspects = soak.suspects();
  if (!snapshot.ok() || !suspects.ok()) return 1;
  print_worst(*snapshot);
  print_offences(*snapshot);
  for (const alloctap::SoakSuspect& suspect : *suspects) {
    std::cout << "a leak of " << suspect.bytes_per_mark / 20 << " bytes in a frame by "
              << place_of(suspect.stack) << '\n';
  }
  if (argc < 3) return 0;
  const alloctap::Status status =
      Tracker::dump(*snapshot, alloctap::HtmlDump{}, alloctap::FileOutput{argv[2]});
  if (!status.ok()) std::cerr << status << '\n';
  return status.ok() ? 0 : 1;
}
