// Feeds bytes to the reader of records, and what came of them to dumps of all kinds and to the
// replay of its events: all that alloctap-convert does with a record.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "alloctap/dump/android_heap_dump.hpp"
#include "alloctap/dump/chrome_trace_dump.hpp"
#include "alloctap/dump/dhat_dump.hpp"
#include "alloctap/dump/folded_dump.hpp"
#include "alloctap/dump/heaptrack_dump.hpp"
#include "alloctap/dump/impl/outputs.hpp"
#include "alloctap/dump/json_dump.hpp"
#include "alloctap/dump/massif_dump.hpp"
#include "alloctap/dump/record_dump.hpp"
#include "alloctap/dump/recording/saved_report.hpp"
#include "alloctap/dump/speedscope_dump.hpp"
#include "alloctap/dump/text_dump.hpp"
#include "alloctap/snapshot/replay.hpp"
#include "alloctap/status.hpp"

namespace {

using namespace alloctap;

void require(bool holds) {
  if (!holds) std::abort();
}

template <class Policy>
MemoryOutput dump(const Policy& policy, const Report& report) {
  MemoryOutput output;
  DumpWriter writer(output);
  policy.write(report, writer);
  const alloctap::Status status = writer.finish();
  require(status.ok() || status.code() == alloctap::StatusCode::kResourceExhausted);
  return output;
}

/// The differences are not of interest: any bytes may be given for numbers.
void replay(const Snapshot& snapshot) {
  Replay replay;
  require(replay.run(snapshot));
  std::uint64_t differences = 0;
  visit_replay_differences(snapshot, replay, [&](const ReplayDifference&) { ++differences; });
  const std::uint64_t numbers = 9 + 5 * snapshot.stacks.size();
  require(differences <= numbers);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  SavedReport saved;
  static_cast<void>(saved.read({reinterpret_cast<const char*>(data), size}));
  const Report report = saved.report();
  replay(report.snapshot);
  dump(TextDump{}, report);
  dump(JsonDump{}, report);
  dump(FoldedDump{}, report);
  dump(HeaptrackDump{.most_events = 10'000}, report);
  dump(DhatDump{}, report);
  dump(MassifDump{}, report);
  dump(ChromeTraceDump{}, report);
  dump(SpeedscopeDump{}, report);
  dump(AndroidHeapDump{}, report);
  const MemoryOutput record = dump(RecordDump{}, report);
  SavedReport again;
  require(again.read(record.text()).ok());
  return 0;
}
