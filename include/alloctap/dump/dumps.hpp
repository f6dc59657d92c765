/// Report formats and their options.
///
/// Each format is implemented in a header of its own (such as text_dump.hpp), which only the file
/// that implements the tracker includes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace alloctap {

class DumpWriter;
class Suppressions;
struct Report;
struct Snapshot;
struct TextDump;
struct TextParts;

/// Selects one number of a `StackSummary`, for formats with one weight per stack.
enum class StackCount : std::uint8_t {
  kLiveBytes,
  kLiveAllocations,
  kAllocatedBytes,
  kAllocations,
  kTemporaryAllocations,
};

/// Writer of a text report's leaks and suppressions, defined in text_dump.hpp. A template, so that
/// one file of a program can instantiate the code for all others (ALLOCTAP_IMPLEMENT).
template <class = void>
struct SuppressedText {
  static void write(const TextDump& dump, const TextParts& parts);
};

/// Optional suppressions that a `TextDump` applies; must outlive the dump. Only the second
/// constructor refers to the code that writes leaks, so programs without suppressions do not
/// compile that code.
class TextSuppressions {
 public:
  TextSuppressions(std::nullptr_t = nullptr) noexcept {}
  TextSuppressions(const Suppressions* rules) noexcept
      : rules_(rules), write_(&SuppressedText<>::write) {}

  /// Returns nullptr if no suppressions were given.
  [[nodiscard]] const Suppressions* rules() const noexcept { return rules_; }

  /// Precondition: `rules()` is not nullptr.
  void write(const TextDump& dump, const TextParts& parts) const { write_(dump, parts); }

 private:
  const Suppressions* rules_ = nullptr;
  void (*write_)(const TextDump&, const TextParts&) = nullptr;
};

/// Text for people: data quality, totals, then stacks in order of live bytes. Frames are leaf
/// first. If no memory is live, lists the stacks that held most bytes at the peak. With
/// suppressions, lists leaks instead of all live memory, and sums up what each rule suppressed.
struct TextDump {
  /// The maximum number of stacks in each list.
  std::size_t most_stacks = 20;
  /// A `const Suppressions*`. If nullptr, nothing is suppressed and no leaks are reported.
  TextSuppressions suppressions = nullptr;
  /// Whether to report leaks. Ignored without suppressions.
  bool leaks = true;

  template <class AnyReport>
  void write(const AnyReport& report, DumpWriter& out) const;
};

/// JSON of schema alloctap.heap/1: all stacks, modules and frames, with names if known. Needs
/// RapidJSON (CMake target alloctap::json_dump).
struct JsonDump {
  /// Must outlive the dump. If nullptr, nothing is suppressed and no leaks are reported.
  const Suppressions* suppressions = nullptr;
  /// Whether to report leaks. Ignored without suppressions.
  bool leaks = true;

  void write(const Report& report, DumpWriter& out) const;
};

/// Page with flame graph, stacks, modules, threads, block sizes and timeline. Embeds the output of
/// `JsonDump`; can also open `JsonDump` files. Needs RapidJSON (CMake target alloctap::html_dump).
struct HtmlDump {
  /// An earlier snapshot of the report's tracker, for comparison with the report. Must outlive the
  /// dump. nullptr: no comparison.
  const Snapshot* base = nullptr;
  /// See `JsonDump::suppressions` and `JsonDump::leaks`.
  const Suppressions* suppressions = nullptr;
  bool leaks = true;

  void write(const Report& report, DumpWriter& out) const;
};

/// Binary recording. alloctap-convert can turn a recording into any other dump, on any machine.
/// Has stack ids, which distinguish equal addresses in an unloaded and in a later module.
/// recording/record_format.hpp has the encoding. Functions that write tables define the columns.
struct RecordDump {
  void write(const Report& report, DumpWriter& out) const;
};

/// Folded stacks. Omits stacks with a count of 0, so the file may be empty. Inlined functions have
/// frames of their own. A stack's tag becomes the stack's root frame. A ';' in a name becomes ':';
/// only compiler-generated names contain ';'.
struct FoldedDump {
  StackCount count = StackCount::kLiveBytes;
  /// An earlier snapshot of the report's tracker, which must outlive the dump. If set, lines have
  /// the earlier and the current count. flamegraph.pl shows growth in red, decrease in blue.
  const Snapshot* before = nullptr;

  void write(const Report& report, DumpWriter& out) const;
};

/// pprof heap profile: each stack's allocated objects and bytes, in-use objects and in-use bytes.
/// The default sample type is in-use bytes. An inlined function is an additional line in the
/// location of the call. Data-quality statements are comments (`pprof -comments`). If
/// `SnapshotOptions` included blocks in the snapshot, samples of live blocks have the label `bytes`
/// (`pprof -tags`); samples of freed blocks do not. If the `Tags` policy records owners, samples
/// have labels `tag` and `thread`. Needs protozero and zlib (CMake target alloctap::pprof_dump).
///
/// Mappings have build-ids. If any frame of the report has a name, all mappings are marked as
/// having names, files and lines, so that readers do not search again for missing names. Otherwise,
/// readers that have the modules' files can symbolize addresses.
struct PprofDump {
  void write(const Report& report, DumpWriter& out) const;
};

/// If the tracker logged all events (`LoggingQueue`), writes them in order. Allocations, leaks and
/// the peak are then those of the report. heaptrack counts a block as temporary if the next event
/// frees that block, or another block of equal size and stack.
///
/// Without a log, writes synthetic events that add up to the totals of a snapshot. Each stack's
/// allocations, temporary allocations and leaks are exact, to the block and byte. Blocks that were
/// freed come first, then blocks that were live at the peak, then blocks that are live at the end.
/// heaptrack therefore shows the snapshot's peak within 1 %, overall and per stack. If the snapshot
/// has no peak, heaptrack shows the memory live at the end, or the largest block, as the peak.
/// heaptrack sees mean sizes, because totals do not contain sizes or times of single blocks.
///
/// A file has two lines of about five bytes for each freed allocation and one for each live block,
/// because the format has no counts. heaptrack also reads gzipped files (`.gz`). Format: heaptrack
/// 1.4, src/analyze/accumulatedtracedata.cpp.
struct HeaptrackDump {
  /// Whether to write live blocks only. The file then does not grow with the program's run time.
  bool only_live = false;
  /// Dumps with more events fail. heaptrack_print reads roughly ten million events a second.
  std::uint64_t most_events = 1'000'000'000;

  void write(const Report& report, DumpWriter& out) const;
};

/// Live bytes over time, as requested by the program. Each point of the timeline is a massif
/// snapshot. The peak (if known) and the end are snapshots with a heap tree. Times are milliseconds
/// since the first snapshot. In the tree, a caller is a child of the function that it called, and
/// the root is all memory. Format: valgrind 3.19, massif/ms_print.
struct MassifDump {
  /// Calls with a smaller percentage of all bytes are merged into one line for each parent.
  std::uint32_t threshold_percent = 1;
  /// The maximum number of calls in a path, counted from the allocation. 30 is massif's default.
  std::size_t most_calls = 30;

  void write(const Report& report, DumpWriter& out) const;
};

/// One program point for each distinct stack: blocks and bytes in total, at the peak (t-gmax) and
/// at the snapshot (t-end). Needs RapidJSON (CMake target alloctap::json_dump).
///
/// Accesses and lifetimes are left out because the tracker does not measure them. The viewer shows
/// lifetimes as NaN. The format requires each point's maximum. The larger of the values at peak and
/// end is written, so the true maximum may be greater. Without a peak in the snapshot, points have
/// only totals. Times are microseconds since the timeline's first point. The key "alloctap" holds
/// the opening members of schema alloctap.heap/1. Format: valgrind 3.19, dhat/dh_main.c,
/// dh_view.js.
struct DhatDump {
  void write(const Report& report, DumpWriter& out) const;
};

/// One file with four profiles: live bytes (shown first), live allocations, allocated bytes and
/// allocations. All call sites in a function share one frame. The key `alloctap`, which speedscope
/// ignores, holds data-quality statements. Needs RapidJSON (CMake target alloctap::json_dump).
struct SpeedscopeDump {
  void write(const Report& report, DumpWriter& out) const;
};

/// Memory over time. Each point of the timeline has the counters "live bytes", "live blocks",
/// "resident bytes", "allocations per second" and "allocated bytes per second". Markers and the
/// peak are instant events. A game frame is a slice, with counters of its allocations and of the
/// bytes that each tag held at the frame's end. Process and threads are named. A counter keeps its
/// value until the next point, so an interval's rate is written at its start. Times are
/// microseconds since the earliest event and never decrease. "otherData" holds the opening members
/// of schema alloctap.heap/1. Needs RapidJSON (CMake target alloctap::json_dump).
struct ChromeTraceDump {
  void write(const Report& report, DumpWriter& out) const;
};

/// Live blocks by stack and size. Sizes are exact if `SnapshotOptions` included blocks in the
/// snapshot. Otherwise only the sums of sizes are exact (`SizeRecords`).
///
/// Frames are call addresses, as in bionic's files. The viewer symbolizes the addresses with the
/// module files that the memory map names. If `names` is set, `bt_info` lines add the module's
/// path, the address in that file and the function. The file is then twenty times larger. The
/// offset into the function is unknown and written as 0. An unknown stack has the frame 0, because
/// the viewer skips records without frames. The map has one line for each loaded module, as if its
/// layouts in file and memory were equal. The format cannot hold data-quality statements. Format:
/// bionic, libc/malloc_debug/PointerData.cpp.
struct AndroidHeapDump {
  /// Whether to write `bt_info` lines, as bionic's option backtrace_full does. Without them, frames
  /// of unloaded modules have no names.
  bool names = false;

  void write(const Report& report, DumpWriter& out) const;
};

/// `SoNativeSize` and `SoMmapSize` are the live bytes of each module's blocks and mappings.
/// `NativeHeap` and `mmap` are the modules and stacks with most bytes. A stack is
/// "path;pc;pc;path;pc;", leaf first; a pc is the call's address in the module's file. Numbers are
/// strings, as in Matrix. Needs RapidJSON (CMake target alloctap::json_dump).
///
/// Unlike Matrix, the dump counts every module's memory and shows the stacks of all `most_modules`
/// modules (Matrix: one less). By default, shows small modules too. Memory without a known module
/// is "[unknown]". All numbers are from one moment. Memory belongs to the innermost module that is
/// not an allocator or runtime. The key `alloctap` holds data-quality statements.
struct MatrixDump {
  std::size_t most_modules = 3;
  std::size_t most_stacks = 3;
  /// Modules that hold fewer bytes are shown without stacks. Matrix's default is 10 MiB.
  std::uint64_t least_bytes = 0;

  void write(const Report& report, DumpWriter& out) const;
};

/// The modules' live bytes, their sum, and each module's stacks, leaf first. Stacks of blocks
/// precede stacks of mappings and list the sizes that hold most bytes. Lines have Matrix's syntax.
///
/// Unlike in Matrix's log, counts are right, frames without names are kept, and stacks of unknown
/// modules are shown. By default, shows small modules too. Data-quality statements replace Matrix's
/// lines about the sizes of its internal tables. Block sizes are exact if the snapshot has blocks
/// (`SnapshotOptions`).
struct MatrixLogDump {
  /// The maximum number of sizes shown for a module.
  std::size_t most_sizes = 20;
  /// Modules that hold fewer bytes are shown without stacks. Matrix's default is 10 MiB.
  std::uint64_t least_bytes = 0;

  void write(const Report& report, DumpWriter& out) const;
};

}  // namespace alloctap
