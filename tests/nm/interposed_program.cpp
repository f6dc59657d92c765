// What the README's program has, but for its symbolizer. Beside the symbols, its text is limited:
// see CMakeLists.txt.
//
// PRESENT: alloctap::TextDump
// PRESENT: alloctap::InterposedOriginals
// ABSENT: alloctap::TextGameFrames
// ABSENT: alloctap::GameFrameRows
// ABSENT: alloctap::TextMisuse
// ABSENT: alloctap::MisuseSorter
// ABSENT: alloctap::TextRules
// ABSENT: alloctap::LeakFinder
// ABSENT: alloctap::TextOwners::
// ABSENT: alloctap::OwnerLabels
// ABSENT: alloctap::ownership_matrix
// ABSENT: alloctap::by_tag
// ABSENT: alloctap::StackEstimates
// ABSENT: alloctap::SampledHeap
// ABSENT: alloctap::BlockChecker
#include <alloctap/hook/interposed_malloc.hpp>
#include <alloctap/implement.hpp>

struct Config : alloctap::DefaultConfig {
  using Hook = alloctap::InterposeHook;
};
using Tracker = alloctap::Tracker<Config>;
ALLOCTAP_DEFINE_INTERPOSED_MALLOC(Tracker);

int main() {
  const auto session = Tracker::start();
  alloctap::MemoryOutput output;
  return session.ok() && Tracker::dump(alloctap::TextDump{}, output).ok() ? 0 : 1;
}
