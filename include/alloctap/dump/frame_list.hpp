/// The distinct frames of a snapshot, numbered.
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

/// Every frame of some stacks of a report once, by ascending address; those of modules that were
/// unloaded come last, module by module, because several of them may have been at one place. Memory
/// from the arena. Refers to the report.
class FrameList {
 public:
  /// Those of all stacks.
  explicit FrameList(const Report& report) noexcept : report_(report) {
    for (const StackSummary& stack : report.snapshot.stacks) add(stack.stack);
    for (const MappingSummary& mapping : report.snapshot.mappings) add(mapping.stack);
    for (const PeakStackSummary& held : report.snapshot.peak.stacks) add(held.stack);
    for_each_misuse_stack(report.snapshot, [this](StackId stack) { add(stack); });
    for (const PoolStackSummary& held : report.snapshot.pools.stacks) add(held.stack);
    for_each_stack(report.snapshot.frames, [this](StackId stack) { add(stack); });
    finish();
  }

  /// Those of `stacks`.
  FrameList(const Report& report, std::span<const StackId> stacks) noexcept : report_(report) {
    for (const StackId stack : stacks) add(stack);
    finish();
  }

  /// False: the system had no memory for all of them.
  [[nodiscard]] bool complete() const noexcept { return complete_; }

  /// The number of `frame`, a return address in `stack`, which is in the list.
  [[nodiscard]] std::size_t index_of(StackId stack, std::uintptr_t frame) const noexcept {
    return static_cast<std::size_t>(
        std::lower_bound(frames_.begin(), frames_.end(), identify(stack, frame)) - frames_.begin());
  }

  [[nodiscard]] std::size_t size() const noexcept { return frames_.size(); }

  /// The return address with that number.
  [[nodiscard]] std::uintptr_t return_address(std::size_t index) const noexcept {
    return frames_[index].address;
  }

  /// Where its call is, and in which module.
  [[nodiscard]] const CodeAddress& place(std::size_t index) const noexcept {
    return places_[index];
  }

  /// The place in the source of the call with that number: the innermost inlined function first;
  /// none where nothing is known. The report's symbolizer is asked once, for all frames.
  [[nodiscard]] std::span<const SourceFrame> source(std::size_t index) const noexcept {
    return symbols_.of(index);
  }

 private:
  /// A return address, and which of the modules that were unloaded held it: 0 if none, else one
  /// more than its number in the table.
  struct Frame {
    std::size_t unloaded = 0;
    std::uintptr_t address = 0;
    friend auto operator<=>(const Frame&, const Frame&) noexcept = default;
  };

  [[nodiscard]] Frame identify(StackId stack, std::uintptr_t frame) const noexcept {
    const Module* unloaded = report_.modules.find_unloaded(call_address(frame), stack);
    return {unloaded == nullptr ? 0 : report_.modules.index_of(*unloaded) + 1, frame};
  }

  /// Duplicates go whenever they could fill half of the list, so it stays near its final size.
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

  /// One module's places stand side by side in what the symbolizer gets.
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
