/// What a report can look like: the options of each form. What writes them is in a header of its
/// own beside this one (text_dump.hpp and so on), which the file that implements the tracker
/// includes.
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

/// One of the numbers of a `StackSummary`, where a format has room for one.
enum class StackCount : std::uint8_t {
  kLiveBytes,
  kLiveAllocations,
  kAllocatedBytes,
  kAllocations,
  kTemporaryAllocations,
};

/// What a text report has in place of the stacks where rules suppress something, in text_dump.hpp.
/// A template, so that one file of a program can instantiate it for all others
/// (ALLOCTAP_IMPLEMENT).
template <class = void>
struct SuppressedText {
  static void write(const TextDump& dump, const TextParts& parts);
};

/// The suppressions of a `TextDump`, alive during the dump. A program that gives it none has
/// nothing compiled of what is written where there are some.
class TextSuppressions {
 public:
  TextSuppressions(std::nullptr_t = nullptr) noexcept {}
  TextSuppressions(const Suppressions* rules) noexcept
      : rules_(rules), write_(&SuppressedText<>::write) {}

  /// nullptr where there are none.
  [[nodiscard]] const Suppressions* rules() const noexcept { return rules_; }

  /// Precondition: `rules()` is not nullptr.
  void write(const TextDump& dump, const TextParts& parts) const { write_(dump, parts); }

 private:
  const Suppressions* rules_ = nullptr;
  void (*write_)(const TextDump&, const TextParts&) = nullptr;
};

/// The account first, then totals, then the stacks that hold most, leaf first, or that held most at
/// the peak where nothing is live. With suppressions, the leaks in place of all that is live, and
/// what each rule suppressed.
struct TextDump {
  /// How many stacks are shown in each list.
  std::size_t most_stacks = 20;
  /// A `const Suppressions*`; nullptr: nothing is suppressed, and no leaks are reported.
  TextSuppressions suppressions = nullptr;
  /// Whether leaks are told apart, where there are suppressions.
  bool leaks = true;

  template <class AnyReport>
  void write(const AnyReport& report, DumpWriter& out) const;
};

/// Every stack, every frame with its name where it is known, every module. Needs RapidJSON: target
/// alloctap::json_dump.
struct JsonDump {
  /// Must outlive the dump. nullptr: nothing is suppressed, and leaks are not told apart.
  const Suppressions* suppressions = nullptr;
  /// Whether leaks are told apart, where there are suppressions.
  bool leaks = true;

  void write(const Report& report, DumpWriter& out) const;
};

/// Flame graph, stacks, modules, threads, block sizes and timeline. The page holds what `JsonDump`
/// writes, and reads its files. Needs RapidJSON: target alloctap::html_dump.
struct HtmlDump {
  /// The page shows what changed since then: an earlier snapshot of the same tracker, which the
  /// caller keeps during the dump. nullptr: none.
  const Snapshot* base = nullptr;
  /// As in `JsonDump`.
  const Suppressions* suppressions = nullptr;
  bool leaks = true;

  void write(const Report& report, DumpWriter& out) const;
};

/// Writes the report so that any other dump can be made of it later, elsewhere. Stacks keep their
/// ids, by which unloaded modules are told from what took their place. The form is described in
/// record_format.hpp, the tables here.
struct RecordDump {
  void write(const Report& report, DumpWriter& out) const;
};

/// Stacks without a count have no line; a report without any is empty. Inlined functions are
/// frames, and the tag of a stack is its root. A ';' in a name becomes ':', which only names of the
/// compiler's own making have.
struct FoldedDump {
  StackCount count = StackCount::kLiveBytes;
  /// An earlier snapshot of the same tracker, alive during the dump: each line then has two
  /// numbers, before and now, which flamegraph.pl shows in red and blue. nullptr: one number, of
  /// now.
  const Snapshot* before = nullptr;

  void write(const Report& report, DumpWriter& out) const;
};

/// A heap profile by the conventions of pprof: of each stack the allocations, their bytes, and what
/// of both is live; readers show live bytes unless another sample type is asked for. Inlined
/// functions are lines of their call, and the account is in the comments (`-comments`). Where the
/// snapshot has its blocks (`SnapshotOptions`), live ones have their size as the label `bytes`
/// (`-tags`), and what was given back has none. Stacks have the labels `tag` and `thread` where the
/// tracker's `Tags` tell them. Needs protozero and zlib: target
/// alloctap::pprof_dump.
///
/// Modules have their build-ids. They say that they have names, files and lines as soon as one
/// frame of the report has a name: what is missing then was not found, and readers need not look
/// for it again. If no frame has a name, readers that have the files can find them.
struct PprofDump {
  void write(const Report& report, DumpWriter& out) const;
};

/// Where the tracker logged all events (`LoggingQueue`), these, as they were: allocations, leaks
/// and the peak are those of the report, and temporary is what heaptrack takes for it: a block that
/// is freed in the next event of all, or another one of the same size and stack.
///
/// Else the totals of a snapshot, as events that add up to them: allocations, temporary ones and
/// leaks of every stack are those of the report, to the block and byte. First comes what was
/// allocated and freed, then what was held at the peak, then what is live in the end. So
/// heaptrack's peak, of all and of every stack, is that of the snapshot where it knows one (within
/// 1 %; without, it is what is live in the end, or the largest block). What totals do not tell
/// heaptrack cannot either: the sizes of single blocks, of which it sees the mean, and their times.
///
/// The format has no other way to count than events: the file has two lines of about five bytes for
/// each allocation that was freed, and one for each live block. heaptrack reads it gzipped too, as
/// `.gz`. Format: heaptrack 1.4, src/analyze/accumulatedtracedata.cpp.
struct HeaptrackDump {
  /// Only what is live is written; the file then does not grow with the time that the program ran.
  bool only_live = false;
  /// A file that would need more fails instead. heaptrack_print reads some ten millions a second.
  std::uint64_t most_events = 1'000'000'000;

  void write(const Report& report, DumpWriter& out) const;
};

/// What was live over time, in bytes that the program asked for: a massif snapshot for every point
/// of the timeline, one with its tree for the peak, where it is known, and one with its tree for
/// the end. Times are milliseconds since the first of them. Callers stand below what they called,
/// so the tree's root is all of the memory. Format: valgrind 3.19, massif/ms_print.
struct MassifDump {
  /// Calls that hold less than so much of all are one line for each caller.
  std::uint32_t threshold_percent = 1;
  /// Calls in a path, counted from the allocation; as in massif.
  std::size_t most_calls = 30;

  void write(const Report& report, DumpWriter& out) const;
};

/// Every stack as a program point: blocks and bytes in all, at the time of the peak (t-gmax) and at
/// the time of the snapshot (t-end). Needs RapidJSON: target alloctap::json_dump.
///
/// What alloctap does not know is not told: accesses are left out, and so are lifetimes, which the
/// viewer shows as NaN. The format demands the maximum of every point: it is the larger of what the
/// point held at the peak and holds at the end, so the true one may be greater. Where the snapshot
/// knows of no peak, the file has the numbers in all alone. Times are microseconds since the first
/// point of the timeline. The key "alloctap" holds what a report of alloctap.heap/1 opens with.
/// Format: valgrind 3.19, dhat/dh_main.c, dh_view.js.
struct DhatDump {
  void write(const Report& report, DumpWriter& out) const;
};

/// One file with four profiles: live bytes, which is shown first, live allocations, allocated
/// bytes, allocations. A function is one frame wherever it called from. The account is in a key of
/// our own, `alloctap`, which speedscope passes over. Needs RapidJSON: target alloctap::json_dump.
struct SpeedscopeDump {
  void write(const Report& report, DumpWriter& out) const;
};

/// Memory over time: for every point of the timeline the counters "live bytes", "live blocks",
/// "resident bytes", "allocations per second" and "allocated bytes per second"; the program's
/// markers and the peak as instants; of a game each of the last frames, with counters of what it
/// allocated, and of what each tag held at its end; the names of the process and of its threads.
/// Counters keep their value until the next point, so what is of a time stands at its start. Times
/// are microseconds since the first moment and never go back. The key "otherData" holds what a
/// report of alloctap.heap/1 opens with. Needs RapidJSON: target alloctap::json_dump.
struct ChromeTraceDump {
  void write(const Report& report, DumpWriter& out) const;
};

/// Live blocks by stack and size; sizes are exact where the snapshot has its blocks
/// (`SnapshotOptions`), else only their sums are (`SizeRecords`).
///
/// Frames are addresses of calls, as bionic's are, which the viewer names by the files in the map;
/// with `names`, `bt_info` lines tell the path of each frame's module, the address in that file,
/// and the function, at twenty times the size. How far into the function is not known and told as
/// 0. A stack that is not known has the frame 0: the viewer passes over records without any. The
/// map has one line for each loaded module, as if its parts lay in the file as they lie in memory.
/// The format has no place for an account.
struct AndroidHeapDump {
  /// As bionic does with the option backtrace_full. Frames of modules that were unloaded are named
  /// here alone.
  bool names = false;

  void write(const Report& report, DumpWriter& out) const;
};

/// `SoNativeSize` and `SoMmapSize`: the live bytes of each module's blocks and mappings;
/// `NativeHeap` and `mmap`: the modules with most of them, and of each the stacks with most, as
/// "path;pc;pc;path;pc;", leaf first, with calls' addresses in the file. Numbers are texts, as
/// there. Needs RapidJSON: target alloctap::json_dump.
///
/// Unlike Matrix it counts every module's memory, shows the stacks of all `most_modules` (Matrix
/// shows those of one less), leaves no module out for being small unless told to, tells what has no
/// known module as "[unknown]", and is of one moment. Memory is put down to the innermost module
/// that is no allocator or runtime. The account is in a key of our own, `alloctap`.
struct MatrixDump {
  std::size_t most_modules = 3;
  std::size_t most_stacks = 3;
  /// Modules that hold less have no stacks; Matrix's default is 10 MiB.
  std::uint64_t least_bytes = 0;

  void write(const Report& report, DumpWriter& out) const;
};

/// For blocks and then for mappings: what each module holds, of blocks with the sizes that take
/// most, the sum, and the stacks of each module, leaf first. Lines read as Matrix's do.
///
/// Unlike Matrix's, counts are right, frames without a name keep their place, stacks whose module
/// is not known are shown, and no module is left out for being small unless told to. The account
/// stands where Matrix tells the sizes of its tables. Sizes of blocks are exact where the snapshot
/// has its blocks (`SnapshotOptions`).
struct MatrixLogDump {
  /// How many sizes of each module are shown.
  std::size_t most_sizes = 20;
  /// Modules that hold less have no stacks; Matrix's default is 10 MiB.
  std::uint64_t least_bytes = 0;

  void write(const Report& report, DumpWriter& out) const;
};

}  // namespace alloctap
