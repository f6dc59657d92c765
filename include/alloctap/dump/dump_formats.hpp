/// Table of the dump formats, with their names and file extensions.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>

#include "alloctap/dump/dumps.hpp"

namespace alloctap {

/// The names of a dump format. The header of the format's policy is named after the policy:
/// `AndroidHeapDump` is in `dump/android_heap_dump.hpp`.
template <class Dump>
struct DumpFormatRow {
  using Policy = Dump;

  /// The name on command lines. A dot and this name are also a file extension of the format.
  std::string_view name;
  /// Further file extensions, each with its dot.
  std::array<std::string_view, 2> endings{};
  /// Whether the format lists single blocks, if `SnapshotOptions` included them in the snapshot.
  bool shows_blocks = false;
};

/// To add a format, add its policy (CONTRIBUTING.md lists the files) and an entry. alloctap-run,
/// alloctap-convert, the tests of all formats and the check of docs/formats.md read this table.
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

/// Calls `visit(row, index)` for each format in `kDumpFormats`, in order.
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
