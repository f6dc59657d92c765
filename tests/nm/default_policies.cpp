// PRESENT: alloctap::BasicShadowIndex
// PRESENT: alloctap::DirectQueue
// PRESENT: alloctap::UnwindRules
// PRESENT: alloctap::TextDump
// PRESENT: alloctap::FullUnwindStack
// ABSENT: _Unwind_Backtrace
// ABSENT: alloctap::BufferQueue
// ABSENT: alloctap::EventLog
// ABSENT: alloctap::FramePointerStack
// ABSENT: alloctap::NoStack
// ABSENT: alloctap::SampledHeap
// ABSENT: alloctap::PoissonSampler
// ABSENT: alloctap::ActiveFaultRules
// ABSENT: alloctap::RefusingRecorder
// ABSENT: alloctap::process_tags
// ABSENT: alloctap::process_pools
// ABSENT: alloctap::TextPools
// ABSENT: alloctap::ThisThreadTag
// ABSENT: JsonDump
// ABSENT: rapidjson
// ABSENT: protozero
// ABSENT: deflate
// ABSENT: alloctap::FoldedDump
// ABSENT: alloctap::AbslSymbolizer
// ABSENT: alloctap::LibdwSymbolizer
// ABSENT: dwfl_
// ABSENT: absl::.*Symbolize\(
#include <alloctap/implement.hpp>

struct Config : alloctap::DefaultConfig {};
using Tracker = alloctap::Tracker<Config>;

int main() {
  const auto session = Tracker::start();
  int block = 0;
  Tracker::Hook::on_allocate(&block, sizeof block);
  Tracker::Hook::on_free(&block);
  alloctap::MemoryOutput output;
  return session.ok() && Tracker::dump(alloctap::TextDump{}, output).ok() ? 0 : 1;
}
