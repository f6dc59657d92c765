// A loop that says what it is doing: which part of it holds memory, and on which thread?
#include <alloctap/hook/interposed_malloc.hpp>
#include <alloctap/implement.hpp>
#include <alloctap/symbol/absl_symbolizer.hpp>
#include <iostream>
#include <memory>
#include <thread>
#include <vector>

#include "alloctap/status.hpp"

struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::InterposeHook;
  using Symbolizer = alloctap::AbslSymbolizer;
  using Tags = alloctap::TagsAndThreads;
};
using Tracker = alloctap::Tracker<Config>;
ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker);

using Bytes = std::unique_ptr<char[]>;

Bytes allocate(std::size_t bytes) { return std::make_unique<char[]>(bytes); }

int main() {
  const auto session = Tracker::start();
  std::vector<Bytes> contacts;
  std::vector<Bytes> voices;
  for (int frame = 0; frame < 100; ++frame) {
    const alloctap::tag_scope game{"Game"};
    {
      const alloctap::tag_scope physics{"Physics"};
      const Bytes scratch = allocate(4096);
      contacts.push_back(allocate(100));
    }
    if (frame == 50) {
      const alloctap::tag_scope sound{"Sound"};
      // The job allocates for Game/Sound, whatever its thread did before.
      std::thread([&voices, tag = alloctap::current_tag()] {
        const alloctap::tag_scope job{tag};
        voices.push_back(allocate(1 << 20));
      }).join();
    }
  }
  alloctap::DescriptorOutput output{1};
  const alloctap::Status status = Tracker::dump(alloctap::TextDump{.most_stacks = 3}, output);
  if (!session.ok() || !status.ok()) std::cerr << session.status() << ' ' << status << '\n';
}
