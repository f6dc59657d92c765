/// The distinct frames of a snapshot's stacks, numbered and symbolized.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

#include "alloctap/dump/misuse_stacks.hpp"
#include "alloctap/dump/report.hpp"
#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/snapshot/snapshot.hpp"

namespace alloctap {

/// The distinct frames of a report's stacks, by ascending address. Frames of unloaded modules come
/// last, grouped by module, because several unloaded modules may have used one address range. Uses
/// arena memory. The report must outlive this object.
class FrameList {
 public:
  /// Collects the frames of all stacks of the report.
  explicit FrameList(const Report& report) noexcept : report_(report) {
    for (const StackSummary& stack : report.snapshot.stacks) add(stack.stack);
    for (const MappingSummary& mapping : report.snapshot.mappings) add(mapping.stack);
    for (const PeakStackSummary& held : report.snapshot.peak.stacks) add(held.stack);
    for_each_misuse_stack(report.snapshot, [this](StackId stack) { add(stack); });
    for (const PoolStackSummary& held : report.snapshot.pools.stacks) add(held.stack);
    for_each_stack(report.snapshot.frames, [this](StackId stack) { add(stack); });
    finish();
  }

  /// Collects the frames of `stacks`.
  FrameList(const Report& report, std::span<const StackId> stacks) noexcept : report_(report) {
    for (const StackId stack : stacks) add(stack);
    finish();
  }

  /// Returns false if out of memory.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// Returns the number of `frame`, a return address in `stack`. The list must contain the frame.
  [[nodiscard]] std::size_t index_of(StackId stack, std::uintptr_t frame) const noexcept {
    return static_cast<std::size_t>(
        std::lower_bound(frames_.begin(), frames_.end(), identify(stack, frame)) - frames_.begin());
  }

  [[nodiscard]] std::size_t size() const noexcept { return frames_.size(); }

  /// Returns the return address of frame number `index`.
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

}  // namespace alloctap
