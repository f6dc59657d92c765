#include <alloctap/snapshot/diff.hpp>
#include <alloctap/snapshot/leaks.hpp>
#include <alloctap/snapshot/suppressions.hpp>

#include "game.hpp"

namespace {

char* textures[100];

void load_textures() {
  for (char*& texture : textures) texture = new char[4096];
}

}  // namespace

bool load_level(alloctap::OutputRef report) {
  const auto growth = Tracker::growth_over(load_textures);
  if (!growth.ok() || growth->total.live_bytes != 100 * 4096) return false;
  Tracker::mark("loaded");
  const auto snapshot = Tracker::snapshot();
  if (!snapshot.ok()) return false;
  const alloctap::Suppressions none;
  const auto leaks = Tracker::leaks(*snapshot, none);
  if (!leaks.ok() || leaks->leaked.live_bytes < 100 * 4096) return false;
  return Tracker::dump(*snapshot, alloctap::TextDump{.most_stacks = 1, .suppressions = &none},
                       report)
      .ok();
}

void leave_level() {
  for (char*& texture : textures) delete[] texture;
}
