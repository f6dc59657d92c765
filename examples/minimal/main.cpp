// The README's ten lines: which call stacks of this program hold memory?
#include <alloctap/hook/interposed_malloc.hpp>
#include <alloctap/implement.hpp>
#include <alloctap/symbol/absl_symbolizer.hpp>
#include <iostream>
#include <map>
#include <string>

#include "alloctap/status.hpp"

struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::InterposeHook;
  using Symbolizer = alloctap::AbslSymbolizer;
};
using Tracker = alloctap::Tracker<Config>;
ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker);

std::map<int, std::string> textures;

void load_level() {
  for (int i = 0; i < 100; ++i) textures[i] = std::string(4096, 't');
}

int main() {
  auto session = Tracker::start();
  load_level();
  const alloctap::Status status =
      Tracker::dump(alloctap::TextDump{}, alloctap::FileOutput{"heap.txt"});
  if (!session.ok() || !status.ok()) std::cerr << session.status() << ' ' << status << '\n';
}
