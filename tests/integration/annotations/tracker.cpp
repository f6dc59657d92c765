// The one file of the program that knows of its tracker.
#include <alloctap/dump/json_dump.hpp>
#include <alloctap/game/allocation_scopes.hpp>
#include <alloctap/game/frames.hpp>
#include <alloctap/heaptrack_api.hpp>
#include <alloctap/hook/interposed_malloc.hpp>
#include <alloctap/implement.hpp>
#include <alloctap/message_text.hpp>
#include <alloctap/named_pools.hpp>
#include <alloctap/observe/observers.hpp>
#include <alloctap/symbol/absl_symbolizer.hpp>
#include <cstdio>
#include <cstdlib>

#include "alloctap/status.hpp"
#include "work.h"

struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::InterposeHook;
  using Tags = alloctap::ScopedTags;
  using Pools = alloctap::NamedPools;
  using Observers = alloctap::Observers<alloctap::Frames, alloctap::AllocationScopes>;
  using Symbolizer = alloctap::AbslSymbolizer;
};
using Tracker = alloctap::Tracker<Config>;
ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker);
ALLOCTAP_DEFINE_HEAPTRACK_API();

void start_tracker() {
  static const auto session = Tracker::start();
  if (!session.ok()) std::abort();
}

void report() {
  const char* const path = std::getenv("REPORT");
  if (path == nullptr) return;
  const alloctap::Status status = Tracker::dump(alloctap::JsonDump{}, alloctap::FileOutput{path});
  if (!status.ok()) std::fprintf(stderr, "%s\n", to_string(status).c_str());
}
