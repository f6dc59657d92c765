/// Lines, stacks, times and logged events in heaptrack's text format.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/dump_writer.hpp"
#include "alloctap/dump/export/call_paths.hpp"
#include "alloctap/dump/export/data_quality_text.hpp"
#include "alloctap/dump/export/function_numbers.hpp"
#include "alloctap/meta/flat_hash_index.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// Writer of lines: one character for the kind, then fields. Numbers are hexadecimal.
class HeaptrackLines {
 public:
  explicit HeaptrackLines(DumpWriter& out) noexcept : out_(out) {}

  [[nodiscard]] DumpWriter& out() noexcept { return out_; }

  template <std::unsigned_integral... Fields>
  void line(char kind, Fields... fields) {
    out_ << kind;
    (field(fields), ...);
    end();
  }

  /// Begins a line. Calls of `field` and then `end` must follow.
  void begin(char kind) { out_ << kind; }
  void field(std::uint64_t number) { (out_ << ' ').hex_digits(number); }
  void end() { out_ << '\n'; }

  /// Writes an entry of the string table. Control characters become '?', so the entry is one line.
  void text(std::string_view text) {
    begin('s');
    field(text.size());
    out_ << ' ';
    write_in_one_line(text, out_, '?');
    end();
  }

 private:
  DumpWriter& out_;
};

/// A preformatted line with one number, for lines that are written very often.
class RepeatedHeaptrackLine {
 public:
  RepeatedHeaptrackLine(char kind, std::uint64_t number) noexcept {
    text_[0] = kind;
    text_[1] = ' ';
    char* end = std::to_chars(text_.data() + 2, text_.data() + text_.size(), number, 16).ptr;
    *end++ = '\n';
    size_ = static_cast<std::size_t>(end - text_.data());
  }

  [[nodiscard]] std::string_view view() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, 24> text_{};
  std::size_t size_ = 0;
};

/// Writer of elapsed time (`c`, milliseconds) and resident memory (`R`, pages) for each point of
/// the timeline, in order. Written times never decrease.
class HeaptrackTimes {
 public:
  /// Time starts at the first point of the timeline, or at `first_ns` if the timeline is empty.
  HeaptrackTimes(const Snapshot& snapshot, HeaptrackLines lines, std::int64_t first_ns) noexcept
      : snapshot_(snapshot),
        lines_(lines),
        start_ns_(snapshot.timeline.empty() ? first_ns : snapshot.timeline[0].time_ns) {}

  /// Writes the points up to `time_ns` that are not written yet.
  void write_points(std::int64_t time_ns = std::numeric_limits<std::int64_t>::max()) {
    const auto& timeline = snapshot_.timeline;
    for (; next_ < timeline.size() && timeline[next_].time_ns <= time_ns; ++next_) {
      write_time(timeline[next_].time_ns);
      lines_.line('R', timeline[next_].resident_bytes / os::page_size());
    }
  }

  void write_time(std::int64_t time_ns) {
    lines_.line('c', latest_ = std::max(latest_, milliseconds(time_ns)));
    written_ = true;
  }

  /// Writes the points before an event at `time_ns`, then `time_ns` if later than `latest_`.
  void advance(std::int64_t time_ns) {
    if (written_ && milliseconds(time_ns) <= latest_) return;
    write_points(time_ns);
    if (!written_ || milliseconds(time_ns) > latest_) write_time(time_ns);
  }

 private:
  [[nodiscard]] std::uint64_t milliseconds(std::int64_t time_ns) const noexcept {
    constexpr std::int64_t kNanosecondsPerMillisecond = 1'000'000;
    const std::int64_t age = std::max<std::int64_t>(0, time_ns - start_ns_);
    return static_cast<std::uint64_t>(age / kNanosecondsPerMillisecond);
  }

  const Snapshot& snapshot_;
  HeaptrackLines lines_;
  std::int64_t start_ns_;
  std::size_t next_ = 0;
  /// The latest time written, in milliseconds.
  std::uint64_t latest_ = 0;
  bool written_ = false;
};

/// Writer of strings (`s`), calls (`i`) and the tree of calls (`t`). The number of a stack's leaf
/// node identifies the stack. Strings, calls and nodes are numbered from 1 in the order of their
/// lines. Parents come before children. Uses arena memory.
class HeaptrackTraces {
 public:
  HeaptrackTraces(const Report& report, HeaptrackLines lines) noexcept
      : report_(report), lines_(lines), paths_(report) {}

  /// Returns false if out of memory.
  [[nodiscard]] bool write() {
    if (!paths_.complete() || !number_texts()) return false;
    for (const std::string_view text : texts_.texts()) lines_.text(text);
    for (std::size_t call = 0; call < paths_.calls(); ++call) write_call(call);
    if (!add_stacks()) return false;
    const PathTree& tree = paths_.tree();
    for (PathTree::Node node = 1; node <= tree.last(); ++node) {
      lines_.line('t', tree.step(node) + 1, tree.parent(node));
    }
    return true;
  }

  /// Returns the trace of the stack at index `stack` in `Snapshot::stacks`. Call `write` first.
  [[nodiscard]] PathTree::Node trace(std::size_t stack) const noexcept { return traces_[stack]; }

 private:
  bool number_texts() noexcept {
    bool complete = true;
    const auto add = [&](std::string_view text) {
      if (!text.empty()) complete = texts_.number_of(text) != TextNumbers::kNone && complete;
    };
    for (std::size_t call = 0; call < paths_.calls(); ++call) {
      paths_.visit_functions(call, [&](const LabelledFrame& frame) {
        add(frame.label);
        add(frame.file);
      });
    }
    for (const Module& module : report_.modules.modules()) add(module.path);
    return complete;
  }

  /// Returns the number of `text`, counted from 1, or 0 if `text` is empty.
  std::uint32_t number_of(std::string_view text) noexcept {
    return text.empty() ? 0 : texts_.number_of(text) + 1;
  }

  /// Writes a call and the functions at the call's address, innermost first.
  void write_call(std::size_t call) {
    const auto [address, module] = paths_.place(call);
    lines_.begin('i');
    lines_.field(address);
    lines_.field(module == nullptr ? 0 : number_of(module->path));
    paths_.visit_functions(call, [&](const LabelledFrame& frame) {
      lines_.field(number_of(frame.label));
      lines_.field(number_of(frame.file));
      lines_.field(frame.line);
    });
    lines_.end();
  }

  bool add_stacks() noexcept {
    for (const StackSummary& stack : report_.snapshot.stacks) {
      const PathTree::Node trace = paths_.add_root_first(stack.stack);
      if (trace == PathTree::kNone || !traces_.push_back(trace)) return false;
    }
    return true;
  }

  const Report& report_;
  HeaptrackLines lines_;
  CallPaths paths_;
  TextNumbers texts_;
  /// Indexed like `Snapshot::stacks`.
  ArenaArray<PathTree::Node> traces_;
};

/// Numbers pairs of block size and trace. Writes an `a` line at the first use of a pair. Never uses
/// number 0, because heaptrack counts a `- 0` after another `-` as temporary. Uses arena memory.
class HeaptrackKinds {
 public:
  static constexpr std::uint32_t kNone = 0;

  explicit HeaptrackKinds(HeaptrackLines lines) noexcept : lines_(lines) {}

  /// Returns the pair's number, or `kNone` if out of memory.
  [[nodiscard]] std::uint32_t number_of(std::uint64_t size, PathTree::Node trace) {
    const PathTree::Node pair = node_of(size, trace);
    if (pair == PathTree::kNone || !numbers_.resize(pairs_.last() + std::size_t{1})) return kNone;
    if (numbers_[pair] == kNone) {
      if (last_ == 0) lines_.line('a', size, trace);
      lines_.line('a', size, trace);
      numbers_[pair] = ++last_;
    }
    return numbers_[pair];
  }

 private:
  /// Returns the trie node of a pair. A step has 32 bits, so a size of more bits takes two steps.
  [[nodiscard]] PathTree::Node node_of(std::uint64_t size, PathTree::Node trace) {
    const PathTree::Node low =
        pairs_.below(pairs_.below(PathTree::kRoot, trace), static_cast<std::uint32_t>(size));
    return size >> 32 == 0 ? low : pairs_.below(low, static_cast<std::uint32_t>(size >> 32));
  }

  HeaptrackLines lines_;
  PathTree pairs_;
  /// Indexed by trie node: the pair's number, or `kNone` if the node is no pair.
  ArenaArray<std::uint32_t> numbers_;
  std::uint32_t last_ = 0;
};

/// Writes logged allocations and frees of known blocks in order, with times. A reallocation becomes
/// a free and an allocation; a failed reallocation is omitted, as in heaptrack. If the log lacks a
/// block's free, writes the free at the address's next allocation. Uses arena memory.
class HeaptrackTimeline {
 public:
  /// `traces.write()` must have been called. All arguments must belong to one report.
  HeaptrackTimeline(const Snapshot& snapshot, const HeaptrackTraces& traces,
                    HeaptrackLines lines) noexcept
      : snapshot_(snapshot), traces_(traces), lines_(lines), kinds_(lines) {}
  HeaptrackTimeline(const HeaptrackTimeline&) = delete;
  HeaptrackTimeline& operator=(const HeaptrackTimeline&) = delete;
  ~HeaptrackTimeline() { live_.release(); }

  /// Returns false if out of memory.
  [[nodiscard]] bool write() {
    if (!list_traces() || !find_cancelled()) return false;
    HeaptrackTimes times(snapshot_, lines_, first_ns_);
    const bool merged = snapshot_.events.for_each([&](const LoggedEvent& event) {
      times.advance(event.time_ns);
      write(event);
    });
    times.write_points();
    return merged && complete_;
  }

 private:
  /// The kDetach event of a reallocation that may still fail.
  struct Detached {
    std::uint64_t sequence = 0;
    std::uintptr_t address = 0;
  };

  bool list_traces() noexcept {
    if (!trace_of_.resize(snapshot_.table->end_id())) return false;
    for (std::size_t i = 0; i < snapshot_.stacks.size(); ++i) {
      trace_of_[snapshot_.stacks[i].stack] = traces_.trace(i);
    }
    return true;
  }

  /// Finds failed reallocations: a thread's kDetach and then kPutBack of one address.
  bool find_cancelled() {
    ArenaArray<Detached> by_thread;
    const bool merged = snapshot_.events.for_each([&](const LoggedEvent& event) {
      if (event.sequence == 0) first_ns_ = event.time_ns;
      if (event.kind != LoggedKind::kDetach && event.kind != LoggedKind::kPutBack) return;
      if (event.thread >= by_thread.size() && !by_thread.resize(std::size_t{event.thread} + 1)) {
        complete_ = false;
        return;
      }
      Detached& last = by_thread[event.thread];
      if (event.kind == LoggedKind::kDetach) {
        last = {event.sequence, event.address};
      } else if (last.address == event.address) {
        complete_ = cancelled_.push_back(last.sequence) && complete_;
      }
    });
    std::sort(cancelled_.begin(), cancelled_.end());
    return merged && complete_;
  }

  /// Returns whether the reallocation of `event` failed. Call it in ascending order of sequence.
  bool is_cancelled(const LoggedEvent& event) noexcept {
    const bool found =
        next_cancelled_ < cancelled_.size() && cancelled_[next_cancelled_] == event.sequence;
    next_cancelled_ += found ? 1 : 0;
    return found;
  }

  void write(const LoggedEvent& event) {
    if (!complete_ || event.kind == LoggedKind::kPutBack) return;
    if (event.kind == LoggedKind::kDetach && is_cancelled(event)) return;
    const auto* block = reinterpret_cast<const void*>(event.address);
    write_free(live_.take(block));
    if (event.kind != LoggedKind::kAllocation) return;
    const std::uint32_t kind = kinds_.number_of(event.size, trace_of_[event.stack]);
    complete_ = kind != HeaptrackKinds::kNone && live_.insert(block, {.stack = kind}).kept;
    lines_.line('+', kind);
  }

  /// Writes the free of a block. In `live_`, `BlockRecord::stack` is the number of an `a` line.
  void write_free(const BlockRecord& block) {
    if (block.stack != kNoStackId) lines_.line('-', block.stack);
  }

  const Snapshot& snapshot_;
  const HeaptrackTraces& traces_;
  HeaptrackLines lines_;
  HeaptrackKinds kinds_;
  FlatHashTable live_;
  /// Indexed by StackId.
  ArenaArray<PathTree::Node> trace_of_;
  /// The sequence numbers of reallocations that failed, ascending.
  ArenaArray<std::uint64_t> cancelled_;
  std::size_t next_cancelled_ = 0;
  std::int64_t first_ns_ = 0;
  bool complete_ = true;
};

}  // namespace alloctap
