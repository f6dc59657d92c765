/// A bounded table of the stacks that allocated in the current game frame.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "alloctap/event/stack_identity.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/snapshot/frame_history.hpp"

namespace alloctap {

/// Per-stack sums of one thread in one frame: a hash table with at most 4 probes. If all probed
/// slots are in use, the stack is dropped and only `FrameCounts` has its events. A new frame needs
/// no clearing: slots of earlier frames are free. Written by its thread, inside malloc; read by any
/// thread. Zero-initialized.
class FrameStacks {
 public:
  static constexpr std::size_t kPlaces = 256;

  ALLOCTAP_ALWAYS_INLINE void count(FrameNumber frame, StackId stack, std::size_t bytes) noexcept {
    Place* place = find(frame, stack);
    if (place == nullptr) return;
    add(place->allocations, 1);
    add(place->bytes, bytes);
  }

  void count_time(FrameNumber frame, StackId stack, std::uint64_t ns) noexcept {
    Place* place = find(frame, stack);
    if (place != nullptr) add(place->allocator_ns, ns);
  }

  /// Calls `visit(const StackOfFrame&)` for each stack of `frame`.
  template <class Visit>
  void for_each(FrameNumber frame, Visit&& visit) const {
    for (const Place& place : places_) {
      if (place.frame.load(std::memory_order_acquire) != mark_of(frame)) continue;
      visit(StackOfFrame{.stack = place.stack.load(std::memory_order_relaxed),
                         .allocations = place.allocations.load(std::memory_order_relaxed),
                         .allocated_bytes = place.bytes.load(std::memory_order_relaxed),
                         .allocator_ns = place.allocator_ns.load(std::memory_order_relaxed)});
    }
  }

 private:
  struct Place {
    std::atomic<std::uint32_t> frame{0};
    std::atomic<StackId> stack{kNoStackId};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint32_t> allocations{0};
    /// Saturates after four seconds.
    std::atomic<std::uint32_t> allocator_ns{0};
  };
  static constexpr std::size_t kProbes = 4;

  /// Returns the slot mark of `frame`. 0 means unused, so every 2^32nd frame loses its stacks.
  static constexpr std::uint32_t mark_of(FrameNumber frame) noexcept {
    return static_cast<std::uint32_t>(frame + 1);
  }

  template <class Number>
  ALLOCTAP_ALWAYS_INLINE static void add(std::atomic<Number>& number, std::uint64_t more) noexcept {
    const std::uint64_t sum = number.load(std::memory_order_relaxed) + more;
    constexpr std::uint64_t kMost = std::numeric_limits<Number>::max();
    number.store(static_cast<Number>(std::min(sum, kMost)), std::memory_order_relaxed);
  }

  ALLOCTAP_ALWAYS_INLINE Place* find(FrameNumber frame, StackId stack) noexcept {
    const std::uint32_t mark = mark_of(frame);
    const std::size_t home = (stack * std::uint32_t{0x9E3779B1}) >> 24;
    for (std::size_t i = 0; i < kProbes; ++i) {
      Place& place = places_[(home + i) % kPlaces];
      if (place.frame.load(std::memory_order_relaxed) != mark) return &take(place, mark, stack);
      if (place.stack.load(std::memory_order_relaxed) == stack) return &place;
    }
    return nullptr;
  }

  static Place& take(Place& place, std::uint32_t mark, StackId stack) noexcept {
    place.stack.store(stack, std::memory_order_relaxed);
    place.bytes.store(0, std::memory_order_relaxed);
    place.allocations.store(0, std::memory_order_relaxed);
    place.allocator_ns.store(0, std::memory_order_relaxed);
    place.frame.store(mark, std::memory_order_release);
    return place;
  }

  Place places_[kPlaces];
};

}  // namespace alloctap
