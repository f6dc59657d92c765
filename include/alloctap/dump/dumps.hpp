/// Report formats and their options. Each format is written by a header beside this one
/// (text_dump.hpp and so on), which the file that implements the tracker includes.
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

/// Writes the leaks and suppressions of a text report; defined in text_dump.hpp. It is a template
/// so that one file of a program can instantiate it for all others (ALLOCTAP_IMPLEMENT).
template <class = void>
struct SuppressedText {
  static void write(const TextDump& dump, const TextParts& parts);
};

/// Optional suppressions of a `TextDump`, which must outlive the dump. Holds a pointer to the code
/// that writes leaks, so that programs without suppressions do not compile it.
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

/// Text for people: data quality, totals, then stacks by live bytes, leaf first. If nothing is
/// live, lists the stacks that held most at the peak. With suppressions, lists leaks instead of all
/// live memory, and what each rule suppressed.
struct TextDump {
  /// The maximum length of each list of stacks.
  std::size_t most_stacks = 20;
  /// A `const Suppressions*`; nullptr: nothing is suppressed, and no leaks are reported.
  TextSuppressions suppressions = nullptr;
  /// Whether to report leaks, if there are suppressions.
  bool leaks = true;

  template <class AnyReport>
  void write(const AnyReport& report, DumpWriter& out) const;
};

/// All stacks, modules, and frames with their names if known: schema alloctap.heap/1. Needs
/// RapidJSON: target alloctap::json_dump.
struct JsonDump {
  /// Must outlive the dump. nullptr: nothing is suppressed, and no leaks are reported.
  const Suppressions* suppressions = nullptr;
  /// Whether to report leaks, if there are suppressions.
  bool leaks = true;

  void write(const Report& report, DumpWriter& out) const;
};

/// Page with flame graph, stacks, modules, threads, block sizes and timeline. Embeds the output of
/// `JsonDump`, and can open files of that format. Needs RapidJSON: target alloctap::html_dump.
struct HtmlDump {
  /// An earlier snapshot of the same tracker, with which the page compares the report. Must outlive
  /// the dump. nullptr: no comparison.
  const Snapshot* base = nullptr;
  /// See `JsonDump::suppressions` and `JsonDump::leaks`.
  const Suppressions* suppressions = nullptr;
  bool leaks = true;

  void write(const Report& report, DumpWriter& out) const;
};

/// Binary recording from which any other dump can be made later, elsewhere. Keeps stack ids, which
/// distinguish an unloaded module from its successor at one address. record_format.hpp describes
/// the encoding, the functions that write tables their columns.
struct RecordDump {
  void write(const Report& report, DumpWriter& out) const;
};

/// Folded stacks. Stacks with a count of 0 have no line, so the file may be empty. Inlined
/// functions are frames, and a stack's tag is its root frame. A ';' in a name becomes ':'; only
/// compiler-generated names have one.
struct FoldedDump {
  StackCount count = StackCount::kLiveBytes;
  /// An earlier snapshot of the same tracker; must outlive the dump. Lines then have two numbers,
  /// before and now, which flamegraph.pl shows in red and blue. nullptr: one number, now.
  const Snapshot* before = nullptr;

  void write(const Report& report, DumpWriter& out) const;
};

/// pprof heap profile: each stack's allocated objects and bytes, and its in-use objects and bytes,
/// which is the default sample type. Inlined functions are lines of their call. Data-quality
/// statements are comments (`-comments`). If the snapshot has its blocks (`SnapshotOptions`),
/// samples of live blocks have the label `bytes` (`-tags`), and samples of freed blocks have no
/// size. Labels `tag` and `thread` name a stack's owners if the tracker's `Tags` records them.
/// Needs protozero and zlib: target alloctap::pprof_dump.
///
/// Modules have build-ids. They are marked as having names, files and lines if any frame of the
/// report has a name. Readers then do not search again for missing names. If no frame has a name,
/// readers that have the files can symbolize.
struct PprofDump {
  void write(const Report& report, DumpWriter& out) const;
};

/// If the tracker logged all events (`LoggingQueue`), writes them in order. Allocations, leaks and
/// the peak are then those of the report. A block counts as temporary by heaptrack's rule: the very
/// next event frees it or another of equal size and stack.
///
/// Otherwise writes synthetic events that add up to the totals of a snapshot. Allocations,
/// temporary ones and leaks of every stack are exact, to the block and byte. Blocks that were
/// allocated and freed come first, then those held at the peak, then those live at the end.
/// heaptrack's peak, overall and per stack, is then the snapshot's (within 1 %). If the snapshot
/// has no peak, it is the memory live at the end, or the largest block. Totals have no single sizes
/// or times, so heaptrack sees mean sizes.
///
/// The format counts by events alone: two lines of about five bytes for each freed allocation, one
/// for each live block. heaptrack also reads the file gzipped, as `.gz`. Format: heaptrack 1.4,
/// src/analyze/accumulatedtracedata.cpp.
struct HeaptrackDump {
  /// Whether to write live blocks only; the file then does not grow with the program's run time.
  bool only_live = false;
  /// Dumps with more events fail. heaptrack_print reads roughly ten million events a second.
  std::uint64_t most_events = 1'000'000'000;

  void write(const Report& report, DumpWriter& out) const;
};

/// Live bytes over time, as requested by the program: one massif snapshot for each point of the
/// timeline. The peak, if known, and the end are snapshots with a heap tree. Times are milliseconds
/// since the first snapshot. The tree is inverted: callers are children of what they called, and
/// the root is all memory. Format: valgrind 3.19, massif/ms_print.
struct MassifDump {
  /// Calls that hold less than this share of all bytes share one line for each parent in the tree.
  std::uint32_t threshold_percent = 1;
  /// The maximum number of calls in a path, counted from the allocation; massif's default.
  std::size_t most_calls = 30;

  void write(const Report& report, DumpWriter& out) const;
};

/// One program point for each stack: blocks and bytes in total, at the peak (t-gmax) and at the
/// snapshot (t-end). Needs RapidJSON: target alloctap::json_dump.
///
/// Accesses and lifetimes are not measured and left out; the viewer shows lifetimes as NaN. The
/// format demands each point's maximum: it is the larger value of peak and end, so the true one may
/// be greater. If the snapshot has no peak, points have totals alone. Times are microseconds since
/// the first point of the timeline. The key "alloctap" holds the opening members of schema
/// alloctap.heap/1. Format: valgrind 3.19, dhat/dh_main.c, dh_view.js.
struct DhatDump {
  void write(const Report& report, DumpWriter& out) const;
};

/// One file with four profiles: live bytes (shown first), live allocations, allocated bytes and
/// allocations. A function is one frame, whatever its call sites. Data-quality statements are in
/// the key `alloctap`, which speedscope ignores. Needs RapidJSON: target alloctap::json_dump.
struct SpeedscopeDump {
  void write(const Report& report, DumpWriter& out) const;
};

/// Memory over time. Each point of the timeline has the counters "live bytes", "live blocks",
/// "resident bytes", "allocations per second" and "allocated bytes per second". Markers and the
/// peak are instants. Each recorded game frame is a slice, with counters of its allocations and of
/// the bytes that each tag held at its end. Process and threads are named. Counters keep their
/// value until the next point, so an interval's rate is written at its start. Times are
/// microseconds since the first moment and never decrease. The key "otherData" holds the opening
/// members of schema alloctap.heap/1. Needs RapidJSON: target alloctap::json_dump.
struct ChromeTraceDump {
  void write(const Report& report, DumpWriter& out) const;
};

/// Live blocks by stack and size. Sizes are exact if the snapshot has its blocks
/// (`SnapshotOptions`); else only their sums are (`SizeRecords`).
///
/// Frames are addresses of calls, as in bionic's files; the viewer symbolizes them by the files in
/// the map. With `names`, `bt_info` lines add the module's path, the address in that file, and the
/// function, at twenty times the size. The offset into the function is unknown and written as 0. An
/// unknown stack has the frame 0, because the viewer skips records without frames. The map has one
/// line for each loaded module, as if file and memory had equal layouts. The format has no place
/// for data-quality statements.
struct AndroidHeapDump {
  /// Whether to write `bt_info` lines, as bionic's option backtrace_full does. Only they name
  /// frames of unloaded modules.
  bool names = false;

  void write(const Report& report, DumpWriter& out) const;
};

/// `SoNativeSize` and `SoMmapSize` are the live bytes of each module's blocks and mappings.
/// `NativeHeap` and `mmap` are the largest modules with their largest stacks, as
/// "path;pc;pc;path;pc;", leaf first, with calls' addresses in the file. Numbers are strings, as in
/// Matrix. Needs RapidJSON: target alloctap::json_dump.
///
/// Unlike Matrix, it counts every module's memory and shows the stacks of all `most_modules`
/// (Matrix: one less). By default no module is left out for its size. Memory without a known module
/// is "[unknown]", and all numbers are from one moment. Memory is attributed to the innermost
/// module that is no allocator or runtime. Data-quality statements are in the key `alloctap`.
struct MatrixDump {
  std::size_t most_modules = 3;
  std::size_t most_stacks = 3;
  /// Modules that hold fewer bytes have no stacks; Matrix's default is 10 MiB.
  std::uint64_t least_bytes = 0;

  void write(const Report& report, DumpWriter& out) const;
};

/// Each module's live bytes, their sum, and each module's stacks, leaf first: of blocks, with the
/// sizes that take most, then of mappings. Lines have Matrix's syntax.
///
/// Unlike in Matrix's log, counts are right, unnamed frames keep their place, and stacks of unknown
/// modules are shown. No module is left out for its size by default. Data-quality statements
/// replace Matrix's sizes of its tables. Block sizes are exact if the snapshot has its blocks
/// (`SnapshotOptions`).
struct MatrixLogDump {
  /// The maximum number of sizes shown for a module.
  std::size_t most_sizes = 20;
  /// Modules that hold fewer bytes have no stacks; Matrix's default is 10 MiB.
  std::uint64_t least_bytes = 0;

  void write(const Report& report, DumpWriter& out) const;
};

}  // namespace alloctap
