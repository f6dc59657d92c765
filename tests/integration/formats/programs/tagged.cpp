// Allocates in tags and on two threads, and writes one moment in several formats.
//
// usage: tagged DIRECTORY
#include <alloctap/dump/json_dump.hpp>
#include <alloctap/dump/pprof_dump.hpp>
#include <alloctap/hook/interposed_malloc.hpp>
#include <alloctap/implement.hpp>
#include <alloctap/symbol/absl_symbolizer.hpp>
#include <string>

struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::InterposeHook;
  using Tags = alloctap::TagsAndThreads;
  using Symbolizer = alloctap::AbslSymbolizer;
};
using Tracker = alloctap::Tracker<Config>;
ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker);

/// Of tagged_work.cpp.
void load();
void simulate();

namespace {

template <class Policy>
bool write(const alloctap::Snapshot& snapshot, const Policy& policy, const std::string& path) {
  return Tracker::dump(snapshot, policy, alloctap::FileOutput{path.c_str()}).ok();
}

}  // namespace

int main(int, char** arguments) {
  const std::string directory = std::string(arguments[1]) + "/";
  const auto session = Tracker::start();
  load();
  simulate();
  const auto snapshot = Tracker::snapshot({.blocks = true});
  return session.ok() && snapshot.ok() &&
                 write(*snapshot, alloctap::TextDump{}, directory + "heap.txt") &&
                 write(*snapshot, alloctap::JsonDump{}, directory + "heap.json") &&
                 write(*snapshot, alloctap::PprofDump{}, directory + "heap.pb.gz") &&
                 write(*snapshot, alloctap::RecordDump{}, directory + "heap.record")
             ? 0
             : 1;
}
