// A game after a soak test: what did the level leave, what grows in each frame, and where should
// room be reserved?
#include <alloctap/game/growth_advisor.hpp>
#include <alloctap/game/level_bracket.hpp>
#include <alloctap/game/soak_detector.hpp>
#include <alloctap/hook/interposed_malloc.hpp>
#include <alloctap/implement.hpp>
#include <alloctap/message_text.hpp>
#include <alloctap/symbol/absl_symbolizer.hpp>
#include <array>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::InterposeHook;
  using Tags = alloctap::ScopedTags;
  using Observers = alloctap::GrowthAdvisor<>;
  using Symbolizer = alloctap::AbslSymbolizer;
};
using Tracker = alloctap::Tracker<Config>;
ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker);

namespace game {

using Bytes = std::unique_ptr<char[]>;

std::vector<Bytes> assets;
Bytes portrait;
std::vector<Bytes> listeners;

void load(std::string_view name, std::size_t bytes) {
  const alloctap::tag_scope asset{name};
  assets.push_back(std::make_unique<char[]>(bytes));
}

// Nobody takes a listener away again.
[[gnu::noinline]] void listen() { listeners.push_back(std::make_unique<char[]>(100)); }

[[gnu::noinline]] int plan_path() {
  std::vector<int> steps;
  for (int i = 0; i < 1000; ++i) steps.push_back(i);
  return steps.back();
}

void play() {
  static_cast<void>(plan_path());
  listen();
}

void unload() {
  portrait = std::move(assets.front());
  assets.clear();
  assets.shrink_to_fit();
}

}  // namespace game

// The innermost function of the game's own.
std::string place_of(alloctap::StackId stack) {
  const auto names = Tracker::name_stacks(std::array{stack});
  if (!names.ok()) return to_string(names.status());
  for (const alloctap::NamedFrame& frame : names->frames(stack)) {
    if (frame.function.starts_with("game::")) return std::string(frame.function);
  }
  return "not known";
}

int main() {
  const auto session = Tracker::start();
  game::listeners.reserve(2000);
  alloctap::SoakDetector soak;
  alloctap::LevelBracket<Tracker> level{"level 2"};
  game::load("portraits/hero.png", 1 << 20);
  game::load("textures/tree.png", 1 << 20);
  for (int frame = 1; frame <= 2000; ++frame) {
    game::play();
    if (frame % 20 != 0) continue;
    const auto mark = Tracker::snapshot();
    if (mark.ok()) soak.add(*mark).ignore_error();
  }
  game::unload();

  const auto left = level.finish();
  if (!session.ok() || !left.ok()) {
    std::cerr << session.status() << ' ' << left.status() << '\n';
    return 1;
  }
  for (const alloctap::LeakedTag& tag : left->tags()) {
    if (!tag.in_level) continue;
    std::cout << tag.path << " left " << tag.left.bytes << " bytes in " << tag.left.blocks
              << (tag.left.blocks == 1 ? " block\n" : " blocks\n");
  }
  const auto suspects = soak.suspects();
  const auto advice = alloctap::GrowthAdvisor<>::advice();
  if (!suspects.ok() || !advice.ok()) return 1;
  for (const alloctap::SoakSuspect& suspect : *suspects) {
    std::cout << "a leak of " << suspect.bytes_per_mark / 20 << " bytes in a frame by "
              << place_of(suspect.stack) << '\n';
  }
  for (const alloctap::GrowthAdvice& one : *advice) {
    std::cout << describe(one) << " by " << place_of(one.stack) << '\n';
  }
}
