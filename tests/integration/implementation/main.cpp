/// Starts the tracker, which another file implements, and writes reports to what its arguments
/// name.
#include <cstdio>

#include "game.hpp"

namespace {

bool callback_sees_all(std::string_view expected) {
  std::size_t bytes = 0;
  alloctap::CallbackOutput counting([&bytes](std::string_view piece) {
    bytes += piece.size();
    return alloctap::Status();
  });
  return Tracker::dump(alloctap::FoldedDump{}, counting).ok() && bytes > 0 && !expected.empty();
}

}  // namespace

int main(int, char** arguments) {
  auto session = Tracker::start();
  if (!session.ok()) return 1;
  if (Tracker::start().status().code() != alloctap::StatusCode::kFailedPrecondition) return 2;
  alloctap::MemoryOutput memory;
  if (!load_level(memory)) return 3;
  std::fwrite(memory.text().data(), 1, memory.text().size(), stdout);
  std::fflush(stdout);
  if (!callback_sees_all(memory.text())) return 4;
  if (!Tracker::dump(alloctap::FoldedDump{}, alloctap::FileOutput(arguments[1])).ok()) return 5;
  if (Tracker::dump(alloctap::FoldedDump{}, alloctap::FileOutput("")).ok()) return 6;
  if (!ToolTracker::start().ok()) return 8;
  if (!ToolTracker::dump(alloctap::TextDump{}, alloctap::MemoryOutput()).ok()) return 9;
  leave_level();
  return Tracker::dump(alloctap::TextDump{}, alloctap::DescriptorOutput(1)).ok() ? 0 : 7;
}
