/// Symbolized frames of stacks, copies of them that outlive the report, owner labels, build-ids.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "alloctap/check/misuse.hpp"
#include "alloctap/check/misuse_log.hpp"
#include "alloctap/dump/dump_policy.hpp"
#include "alloctap/dump/human_units.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/runtime/text_pool.hpp"
#include "alloctap/snapshot/by_tag.hpp"
#include "alloctap/snapshot/snapshot.hpp"
#include "alloctap/stack/stack_table.hpp"
#include "alloctap/status.hpp"
#include "alloctap/symbol/module_table.hpp"

namespace alloctap {

/// Calls `visit(StackId)` for each stack that a misuse of `snapshot` refers to.
template <class Visit>
void for_each_misuse_stack(const Snapshot& snapshot, Visit&& visit) {
  for (const CountedMisuse& counted : snapshot.misuses) for_each_stack(counted.first, visit);
}

/// The distinct frames of a report's stacks, symbolized and numbered by ascending address. Frames
/// of unloaded modules come last, grouped by module, because several unloaded modules may have used
/// one address range. Uses arena memory. The report must outlive this object.
class FrameList {
 public:
  /// Collects the frames of all stacks of the report.
  explicit FrameList(const Report& report) noexcept : report_(report) {
    for (const StackSummary& stack : report.snapshot.stacks) add(stack.stack);
    for (const MappingSummary& mapping : report.snapshot.mappings) add(mapping.stack);
    for (const PeakStackSummary& held : report.snapshot.peak.stacks) add(held.stack);
    for_each_misuse_stack(report.snapshot, [this](StackId stack) { add(stack); });
    for (const PoolStackSummary& held : report.snapshot.pools.stacks) add(held.stack);
    for (const OffenceSum& offence : report.snapshot.scope_offences) add(offence.stack);
    for_each_stack(report.snapshot.frames, [this](StackId stack) { add(stack); });
    finish();
  }

  FrameList(const Report& report, std::span<const StackId> stacks) noexcept : report_(report) {
    for (const StackId stack : stacks) add(stack);
    finish();
  }

  /// Returns false if out of memory.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Returns the index of `frame`, a return address in `stack`, for `place` and `source`.
  /// Precondition: this list contains the frame.
  [[nodiscard]] std::size_t index_of(StackId stack, std::uintptr_t frame) const noexcept {
    return static_cast<std::size_t>(
        std::lower_bound(frames_.begin(), frames_.end(), identify(stack, frame)) - frames_.begin());
  }

  [[nodiscard]] std::size_t size() const noexcept { return frames_.size(); }

  [[nodiscard]] std::uintptr_t return_address(std::size_t index) const noexcept {
    return frames_[index].address;
  }

  /// Returns the address and module of the call with number `index`.
  [[nodiscard]] const CodeAddress& place(std::size_t index) const noexcept {
    return places_[index];
  }

  /// Returns the functions at the address of call number `index`: inlined functions, innermost
  /// first, then the function that contains them. Empty if unknown. Symbolized in the constructor.
  [[nodiscard]] std::span<const SourceFrame> source(std::size_t index) const noexcept {
    return symbols_.of(index);
  }

 private:
  /// A return address. If an unloaded module contained it, `unloaded` is the module's index plus 1.
  /// Otherwise `unloaded` is 0.
  struct Frame {
    std::size_t unloaded = 0;
    std::uintptr_t address = 0;
    friend auto operator<=>(const Frame&, const Frame&) noexcept = default;
  };

  [[nodiscard]] Frame identify(StackId stack, std::uintptr_t frame) const noexcept {
    const Module* unloaded = report_.modules.find_unloaded(call_address(frame), stack);
    return {unloaded == nullptr ? 0 : report_.modules.index_of(*unloaded) + 1, frame};
  }

  /// Adds the frames of `stack`. To bound memory, removes duplicates whenever the list has doubled.
  void add(StackId stack) noexcept {
    for (const std::uintptr_t frame : report_.snapshot.table->frames(stack)) {
      complete_ = frames_.push_back(identify(stack, frame)) && complete_;
    }
    if (frames_.size() < next_cleaning_) return;
    make_unique();
    next_cleaning_ = std::max(kFirstCleaning, frames_.size() * 2);
  }

  void make_unique() noexcept {
    std::sort(frames_.begin(), frames_.end());
    const auto* end = std::unique(frames_.begin(), frames_.end());
    static_cast<void>(frames_.resize(static_cast<std::size_t>(end - frames_.begin())));
  }

  void finish() noexcept {
    make_unique();
    complete_ = complete_ && places_.resize(frames_.size());
    if (!complete_) return;
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      const std::uintptr_t address = call_address(frames_[i].address);
      const std::size_t unloaded = frames_[i].unloaded;
      places_[i] = {address, unloaded == 0 ? report_.modules.find(address)
                                           : &report_.modules.modules()[unloaded - 1]};
    }
    name_places();
  }

  /// Symbolizes all calls. Calls in one module are adjacent, as `Symbolizer` requires.
  void name_places() noexcept {
    if (report_.symbolize == nullptr || !symbols_.expect(places_.size())) return;
    report_.symbolize({places_.data(), places_.size()}, symbols_);
  }

  static constexpr std::size_t kFirstCleaning = 65536;

  const Report& report_;
  ArenaArray<Frame> frames_;
  ArenaArray<CodeAddress> places_;
  Symbols symbols_;
  std::size_t next_cleaning_ = kFirstCleaning;
  bool complete_ = true;
};

/// A function on a stack, and the source line and address of its pending call.
struct NamedFrame {
  /// The demangled name; empty if unknown.
  std::string_view function = {};
  /// The path of the module's file; empty if the module is unknown.
  std::string_view module = {};
  /// The path of the source file, as in the debug information; empty if unknown.
  std::string_view file = {};
  /// The line number, counted from 1; 0 if unknown.
  std::uint32_t line = 0;
  /// Whether the function is inlined into the function of the next frame.
  bool inlined = false;
  /// The call's address in the module's file, or in the process if the module is unknown.
  std::uint64_t offset = 0;
  /// The call's address in the process: the `call_address` of the return address.
  std::uint64_t address = 0;

  /// Returns the name of the module's file without directories.
  [[nodiscard]] std::string_view module_name() const noexcept {
    return module.substr(module.find_last_of("/\\") + 1);
  }
};

/// Symbolized frames of chosen stacks. The frames stay valid after the tracker's session. Uses
/// arena memory. Move-only; const members are thread-safe.
class NamedStacks {
 public:
  /// Symbolizes `stacks`, which may be in any order and have duplicates. `report` must contain them
  /// all. Returns an error if out of memory. Control plane.
  [[nodiscard]] static Result<NamedStacks> name(const Report& report,
                                                std::span<const StackId> stacks) {
    NamedStacks named;
    const FrameList list(report, stacks);
    if (!list.complete() || !named.add_all(report, list, stacks)) {
      return Status::resource_exhausted("named stacks: the system has no memory for them");
    }
    return named;
  }

  /// Returns the stack's frames, leaf first. Empty if `stack` was not requested or has no frames.
  [[nodiscard]] std::span<const NamedFrame> frames(StackId stack) const noexcept {
    const auto* const found =
        std::lower_bound(stacks_.begin(), stacks_.end(), stack,
                         [](const Range& range, StackId wanted) { return range.stack < wanted; });
    if (found == stacks_.end() || found->stack != stack) return {};
    return {frames_.data() + found->begin, found->size};
  }

 private:
  struct Range {
    StackId stack = kNoStackId;
    std::size_t begin = 0;
    std::size_t size = 0;
  };

  NamedStacks() = default;

  bool add_all(const Report& report, const FrameList& list, std::span<const StackId> stacks) {
    for (const StackId stack : stacks) {
      if (!stacks_.push_back({.stack = stack})) return false;
    }
    const auto by_id = [](const Range& a, const Range& b) { return a.stack < b.stack; };
    const auto same = [](const Range& a, const Range& b) { return a.stack == b.stack; };
    std::sort(stacks_.begin(), stacks_.end(), by_id);
    const auto* const end = std::unique(stacks_.begin(), stacks_.end(), same);
    if (!stacks_.resize(static_cast<std::size_t>(end - stacks_.begin()))) return false;
    return std::all_of(stacks_.begin(), stacks_.end(),
                       [&](Range& range) { return add(report, list, range); });
  }

  bool add(const Report& report, const FrameList& list, Range& range) {
    range.begin = frames_.size();
    for (const std::uintptr_t frame : report.snapshot.table->frames(range.stack)) {
      if (!add(list, list.index_of(range.stack, frame))) return false;
    }
    range.size = frames_.size() - range.begin;
    return true;
  }

  bool add(const FrameList& list, std::size_t index) {
    const auto [address, module] = list.place(index);
    NamedFrame frame{.offset = address, .address = address};
    if (module != nullptr) {
      frame.module = texts_.keep(module->path);
      frame.offset -= module->bias;
    }
    const auto source = list.source(index);
    for (std::size_t i = 0; i < source.size(); ++i) {
      frame.function = texts_.keep(source[i].function);
      frame.file = texts_.keep(source[i].file);
      frame.line = source[i].line;
      frame.inlined = i + 1 < source.size();
      if (!frames_.push_back(frame)) return false;
    }
    return !source.empty() || frames_.push_back(frame);
  }

  ArenaArray<Range> stacks_;
  ArenaArray<NamedFrame> frames_;
  TextSet texts_;
};

/// Returns "worker (4712)" for a thread, or "4712" if it has no name, for example after its end.
[[nodiscard]] inline ShortText thread_label(const ThreadSummary& thread) noexcept {
  ShortText label;
  if (!thread.name().empty()) {
    label.append(thread.name());
    label.append(" (");
  }
  label.append(static_cast<std::uint64_t>(thread.thread_id));
  if (!thread.name().empty()) label.append(')');
  return label;
}

/// Tag and thread labels for the stacks of a snapshot, which must outlive them. Uses arena memory.
class OwnerLabels {
 public:
  explicit OwnerLabels(const Snapshot& snapshot) noexcept
      : snapshot_(snapshot), tags_(snapshot.tags), complete_(tags_.complete()) {
    for (std::size_t i = 0; i < snapshot.threads.size(); ++i) {
      const ThreadSummary& thread = snapshot.threads[i];
      if (thread.holding && thread.number != kNoThread) add(thread, i);
    }
  }

  /// Returns false if out of memory.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Returns the full path of the stack's tag; empty if the stack has no tag.
  [[nodiscard]] std::string_view tag(StackId stack) const noexcept {
    return tags_.of(snapshot_.table->owner(stack).tag);
  }

  /// Returns the label of the stack's thread; empty if the thread was not recorded.
  [[nodiscard]] std::string_view thread(StackId stack) const noexcept {
    const Thread* thread = find_thread(stack);
    return thread == nullptr ? std::string_view() : thread->label;
  }

  /// Returns the index of the stack's thread in the snapshot's threads; nullopt if not recorded.
  [[nodiscard]] std::optional<std::uint64_t> thread_index(StackId stack) const noexcept {
    const Thread* thread = find_thread(stack);
    return thread == nullptr ? std::optional<std::uint64_t>() : thread->index;
  }

  [[nodiscard]] const TagPaths& tags() const noexcept { return tags_; }

 private:
  struct Thread {
    std::string_view label;
    std::uint64_t index = 0;
  };

  [[nodiscard]] const Thread* find_thread(StackId stack) const noexcept {
    const ThreadNumber number = snapshot_.table->owner(stack).thread;
    const bool is_known = number < threads_.size() && !threads_[number].label.empty();
    return is_known ? &threads_[number] : nullptr;
  }

  void add(const ThreadSummary& thread, std::uint64_t index) noexcept {
    const bool has_place =
        thread.number < threads_.size() || threads_.resize(std::size_t{thread.number} + 1);
    complete_ = complete_ && has_place;
    if (!has_place) return;
    const std::string_view label = texts_.keep(thread_label(thread));
    threads_[thread.number] = {label, index};
    complete_ = complete_ && !label.empty();
  }

  const Snapshot& snapshot_;
  TagPaths tags_;
  TextPool texts_;
  /// Indexed by thread number.
  ArenaArray<Thread> threads_;
  bool complete_;
};

/// A build-id as hexadecimal digits, as `readelf -n` shows it. Empty if the module has no id.
class BuildIdText {
 public:
  explicit BuildIdText(const Module& module) noexcept : size_(2 * module.build_id_bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (std::size_t i = 0; i < module.build_id_bytes; ++i) {
      const auto byte = std::to_integer<unsigned>(module.build_id[i]);
      digits_[2 * i] = kDigits[byte >> 4];
      digits_[2 * i + 1] = kDigits[byte & 15];
    }
  }

  [[nodiscard]] std::string_view view() const noexcept { return {digits_, size_}; }

 private:
  char digits_[2 * sizeof Module::build_id];
  std::size_t size_;
};

}  // namespace alloctap
