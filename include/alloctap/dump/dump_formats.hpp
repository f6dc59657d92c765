/// The dump formats: one row each.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>

#include "alloctap/dump/dumps.hpp"

namespace alloctap {

/// A format as commands and documents know it. The policy's header is
/// named after it: `AndroidHeapDump` is in `dump/android_heap_dump.hpp`.
template <class Dump>
struct DumpFormatRow {
  using Policy = Dump;

  /// On the command line; it is an ending of files, too.
  std::string_view name;
  /// Other endings of files, with the dot.
  std::array<std::string_view, 2> endings{};
  /// Whether the format shows blocks one by one, for which a snapshot needs `SnapshotOptions`.
  bool shows_blocks = false;
};

/// A new format is its policy (CONTRIBUTING.md says which files that has) and a row here:
/// alloctap-run, alloctap-convert, the suites that run over all formats and the check of
/// docs/formats.md read this list.
inline constexpr std::tuple kDumpFormats{
    DumpFormatRow<TextDump>{.name = "text", .endings = {".txt", ".log"}},
    DumpFormatRow<JsonDump>{.name = "json"},
    DumpFormatRow<FoldedDump>{.name = "folded", .endings = {".collapsed"}},
    DumpFormatRow<HeaptrackDump>{.name = "heaptrack"},
    DumpFormatRow<PprofDump>{.name = "pprof", .endings = {".pb.gz"}, .shows_blocks = true},
    DumpFormatRow<DhatDump>{.name = "dhat", .endings = {".dhat.json"}},
    DumpFormatRow<MassifDump>{.name = "massif"},
    DumpFormatRow<ChromeTraceDump>{.name = "chrome-trace", .endings = {".trace.json"}},
    DumpFormatRow<SpeedscopeDump>{.name = "speedscope", .endings = {".speedscope.json"}},
    DumpFormatRow<AndroidHeapDump>{.name = "android", .shows_blocks = true},
    DumpFormatRow<HtmlDump>{.name = "html", .endings = {".htm"}},
    DumpFormatRow<MatrixDump>{.name = "matrix", .endings = {".matrix.json"}},
    DumpFormatRow<MatrixLogDump>{.name = "matrix-log", .shows_blocks = true},
    DumpFormatRow<RecordDump>{.name = "record"},
};

inline constexpr std::size_t kDumpFormatCount = std::tuple_size_v<decltype(kDumpFormats)>;

/// Calls `visit(row, index)` for each row, in their order.
template <class Visit>
constexpr void for_each_dump_format(Visit&& visit) {
  std::apply(
      [&](const auto&... rows) {
        std::size_t index = 0;
        (visit(rows, index++), ...);
      },
      kDumpFormats);
}

}  // namespace alloctap
