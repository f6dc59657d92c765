/// Symbols read from a recording.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>

#include "alloctap/runtime/arena_array.hpp"
#include "alloctap/symbol/module_table.hpp"
#include "alloctap/symbol/symbolizer.hpp"

namespace alloctap {

/// Return addresses and the functions at them. Strings belong to the caller and must outlive this
/// object. Uses arena memory. Not thread-safe.
class SavedSymbols {
 public:
  /// Adds a return address. If an unloaded module contained it, `unloaded` is the module's number
  /// plus 1, otherwise 0. Returns false if out of memory.
  [[nodiscard]] bool add_frame(std::uint64_t address, std::uint64_t unloaded) noexcept {
    return frames_.push_back({.unloaded = unloaded, .address = address});
  }

  /// Adds the next outer function of a frame. Returns false without adding anything if the frame is
  /// unknown, its functions are not adjacent, or memory ran out.
  [[nodiscard]] bool add_function(std::uint64_t frame, const SourceFrame& source) noexcept {
    if (frame >= frames_.size()) return false;
    Frame& at = frames_[frame];
    if (at.functions == 0) at.first = functions_.size();
    if (at.first + at.functions != functions_.size() || !functions_.push_back(source)) return false;
    ++at.functions;
    return true;
  }

  [[nodiscard]] std::size_t frames() const noexcept { return frames_.size(); }
  [[nodiscard]] std::uintptr_t address(std::size_t frame) const noexcept {
    return frames_[frame].address;
  }

  /// Sorts the frames. Call it after the last `add_frame`. Returns false if out of memory.
  [[nodiscard]] bool finish() noexcept {
    for (const Frame& frame : frames_) {
      if (!sorted_.push_back(frame)) return false;
    }
    std::sort(sorted_.begin(), sorted_.end(), &is_less);
    return true;
  }

  /// Makes `symbolize` use this object. `modules` must contain the modules of symbolized addresses.
  void use(const ModuleTable& modules) noexcept {
    modules_ = &modules;
    current_ = this;
  }

  /// Adds the recorded functions of each address in `places`; see `Symbolizer`.
  static void symbolize(std::span<const CodeAddress> places, Symbols& symbols) noexcept {
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (const SourceFrame& function : current_->functions_at(places[i])) {
        symbols.add(i, function);
      }
    }
  }

 private:
  struct Frame {
    std::uint64_t unloaded = 0;
    std::uint64_t address = 0;
    std::size_t first = 0;
    std::size_t functions = 0;
  };

  static bool is_less(const Frame& one, const Frame& other) noexcept {
    return std::tie(one.unloaded, one.address) < std::tie(other.unloaded, other.address);
  }

  [[nodiscard]] std::span<const SourceFrame> functions_at(const CodeAddress& place) const noexcept {
    const bool unloaded = place.module != nullptr && place.module->is_unloaded();
    const Frame sought{.unloaded = unloaded ? modules_->index_of(*place.module) + 1 : 0,
                       .address = place.address + 1};
    const Frame* found = std::lower_bound(sorted_.begin(), sorted_.end(), sought, &is_less);
    if (found == sorted_.end() || is_less(sought, *found)) return {};
    return {functions_.data() + found->first, found->functions};
  }

  ArenaArray<Frame> frames_;
  ArenaArray<SourceFrame> functions_;
  /// The frames, sorted by unloaded module and address.
  ArenaArray<Frame> sorted_;
  const ModuleTable* modules_ = nullptr;
  static inline const SavedSymbols* current_ = nullptr;
};

}  // namespace alloctap
