// The least that tracks an allocator of one's own, the same on every system.
#include <alloctap/implement.hpp>
#include <cstdlib>
#include <iostream>

#include "alloctap/status.hpp"

struct Config : alloctap::DefaultConfig {
  using Symbolizer = alloctap::DefaultSymbolizer;
};
using Tracker = alloctap::Tracker<Config>;

namespace {

void* game_allocate(std::size_t bytes) {
  void* const block = std::malloc(bytes);
  Tracker::Hook::on_allocate(block, bytes);
  return block;
}

void game_free(void* block) {
  Tracker::Hook::on_free(block);
  std::free(block);
}

void load_level() {
  for (int i = 0; i < 100; ++i) static_cast<void>(game_allocate(4096));
}

}  // namespace

int main() {
  const auto session = Tracker::start();
  if (!session.ok()) {
    std::cerr << session.status() << '\n';
    return 1;
  }
  load_level();
  game_free(game_allocate(100));
  const alloctap::Status status =
      Tracker::dump(alloctap::TextDump{}, alloctap::DescriptorOutput(1));
  if (!status.ok()) std::cerr << status << '\n';
  return status.ok() ? 0 : 1;
}
