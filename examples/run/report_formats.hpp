/// The dump policies behind the names of formats.
#pragma once

#include <absl/status/status.h>

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
#include <alloctap/snapshot/suppressions.hpp>

#include "settings.hpp"

namespace alloctap::run {

/// The result of `dump(policy)` with the policy of `format`. `suppressions` may be nullptr.
template <class Dump>
absl::Status dump_as(DumpFormat format, const Suppressions* suppressions, Dump&& dump) {
  switch (format) {
    case DumpFormat::kText:
      return dump(TextDump{.suppressions = suppressions});
    case DumpFormat::kJson:
      return dump(JsonDump{.suppressions = suppressions});
    case DumpFormat::kHtml:
      return dump(HtmlDump{.suppressions = suppressions});
    case DumpFormat::kFolded:
      return dump(FoldedDump{});
    case DumpFormat::kHeaptrack:
      return dump(HeaptrackDump{});
    case DumpFormat::kPprof:
      return dump(PprofDump{});
    case DumpFormat::kDhat:
      return dump(DhatDump{});
    case DumpFormat::kMassif:
      return dump(MassifDump{});
    case DumpFormat::kChromeTrace:
      return dump(ChromeTraceDump{});
    case DumpFormat::kSpeedscope:
      return dump(SpeedscopeDump{});
    case DumpFormat::kAndroid:
      return dump(AndroidHeapDump{});
    case DumpFormat::kMatrix:
      return dump(MatrixDump{});
    case DumpFormat::kMatrixLog:
      return dump(MatrixLogDump{});
    case DumpFormat::kRecord:
      return dump(RecordDump{});
  }
  return absl::InternalError("no such format");
}

}  // namespace alloctap::run
