#include "chosen_dump.hpp"

#include <alloctap/dump/android_heap_dump.hpp>
#include <alloctap/dump/chrome_trace_dump.hpp>
#include <alloctap/dump/dhat_dump.hpp>
#include <alloctap/dump/folded_dump.hpp>
#include <alloctap/dump/heaptrack_dump.hpp>
#include <alloctap/dump/html_dump.hpp>
#include <alloctap/dump/json_dump.hpp>
#include <alloctap/dump/massif_dump.hpp>
#include <alloctap/dump/matrix_dump.hpp>
#include <alloctap/dump/matrix_log_dump.hpp>
#include <alloctap/dump/pprof_dump.hpp>
#include <alloctap/dump/record_dump.hpp>
#include <alloctap/dump/speedscope_dump.hpp>
#include <alloctap/dump/text_dump.hpp>

namespace alloctap::run {

void ChosenDump::write(const Report& report, DumpWriter& writer) const {
  const auto write_as = [&](const auto& policy) { policy.write(report, writer); };
  switch (format) {
    case DumpFormat::kText:
      return write_as(TextDump{.suppressions = suppressions, .leaks = leaks});
    case DumpFormat::kJson:
      return write_as(JsonDump{.suppressions = suppressions, .leaks = leaks});
    case DumpFormat::kHtml:
      return write_as(HtmlDump{.suppressions = suppressions, .leaks = leaks});
    case DumpFormat::kFolded:
      return write_as(FoldedDump{});
    case DumpFormat::kHeaptrack:
      return write_as(HeaptrackDump{});
    case DumpFormat::kPprof:
      return write_as(PprofDump{});
    case DumpFormat::kDhat:
      return write_as(DhatDump{});
    case DumpFormat::kMassif:
      return write_as(MassifDump{});
    case DumpFormat::kChromeTrace:
      return write_as(ChromeTraceDump{});
    case DumpFormat::kSpeedscope:
      return write_as(SpeedscopeDump{});
    case DumpFormat::kAndroid:
      return write_as(AndroidHeapDump{});
    case DumpFormat::kMatrix:
      return write_as(MatrixDump{});
    case DumpFormat::kMatrixLog:
      return write_as(MatrixLogDump{});
    case DumpFormat::kRecord:
      return write_as(RecordDump{});
  }
}

}  // namespace alloctap::run
