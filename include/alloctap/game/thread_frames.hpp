/// One thread's counters in the current game frame, and the thread's time in the allocator.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "alloctap/event/event_sink.hpp"
#include "alloctap/event/stack_identity.hpp"
#include "alloctap/macros.hpp"
#include "alloctap/os/clock.hpp"
#include "alloctap/runtime/per_thread.hpp"
#include "alloctap/snapshot/frame_history.hpp"

namespace alloctap {

/// Estimates the total duration of one thread's small allocator calls from samples. A sample near
/// the mean represents all calls of its sampling interval. A much longer sample (a wait or a page
/// fault) represents only itself, because its weighted duration could exceed that of the frame.
/// Accessed only by its thread, inside malloc; zero-initialized.
struct TypicalLatency {
  /// A sample longer than the mean times this factor is an outlier.
  static constexpr std::uint64_t kMuchLonger = 16;
  /// Upper limit of the initial mean, in nanoseconds, because the first sample is often slow.
  static constexpr std::uint64_t kFirstAtMost = 1'000;

  /// Moving average of samples, in nanoseconds; 0 before the first sample.
  std::uint64_t ns = 0;

  /// Returns the estimated nanoseconds of `weight` calls, given that one of them took `taken`.
  std::uint64_t estimate(std::uint64_t taken, std::uint64_t weight) noexcept;
};

/// A hash table with the sums of one thread for each stack in one frame. If `kProbes` probes find
/// neither the stack nor a free slot, the stack is dropped, and only `FrameCounts` includes its
/// events. A new frame needs no clearing, because slots marked with earlier frames count as free.
/// Written by the owning thread, inside malloc; read by any thread. Zero-initialized.
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
    /// Nanoseconds in the allocator. Saturates after four seconds.
    std::atomic<std::uint32_t> allocator_ns{0};
  };
  static constexpr std::size_t kProbes = 4;

  /// Returns the mark of slots used in `frame`. The mark 0 means unused, so one frame in 2^32 has
  /// no stacks.
  static constexpr std::uint32_t mark_of(FrameNumber frame) noexcept {
    return static_cast<std::uint32_t>(frame + 1);
  }

  template <class Number>
  ALLOCTAP_ALWAYS_INLINE static void add(std::atomic<Number>& number, std::uint64_t more) noexcept {
    const std::uint64_t sum = number.load(std::memory_order_relaxed) + more;
    constexpr std::uint64_t kMaxCount = std::numeric_limits<Number>::max();
    number.store(static_cast<Number>(std::min(sum, kMaxCount)), std::memory_order_relaxed);
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

/// Counters of one tag in a frame. Not thread-safe.
struct FramePart {
  FrameCounts counts;
  /// Maximum of allocated minus freed bytes within the frame.
  std::int64_t highest = 0;

  ALLOCTAP_ALWAYS_INLINE void allocate(std::size_t bytes) noexcept {
    ++counts.allocations;
    counts.allocated_bytes += bytes;
    raise(highest, counts.allocated_bytes, counts.freed_bytes);
  }
  ALLOCTAP_ALWAYS_INLINE void free(std::size_t bytes) noexcept {
    ++counts.deallocations;
    counts.freed_bytes += bytes;
  }

  ALLOCTAP_ALWAYS_INLINE static void raise(std::int64_t& highest, std::uint64_t allocated,
                                           std::uint64_t freed) noexcept {
    const auto net = static_cast<std::int64_t>(allocated - freed);
    if (net > highest) highest = net;
  }
};

/// Counters of one thread in the frame of its last event. Other threads read `totals`, which has a
/// cache line to itself. Only the owning thread accesses the other members, except while the world
/// is stopped. Zero-initialized; runs inside malloc.
struct alignas(64) ThreadFrames {
  /// Maximum number of tags per thread and frame. All further tags count as `kOtherTags`.
  static constexpr std::size_t kMaxTags = 127;

  /// Sums over all tags in `frame`. Read by the thread that ends a frame.
  struct Totals {
    std::atomic<FrameNumber> frame{0};
    std::atomic<std::uint64_t> allocations{0};
    std::atomic<std::uint64_t> allocated_bytes{0};
    std::atomic<std::uint64_t> deallocations{0};
    std::atomic<std::uint64_t> freed_bytes{0};
    std::atomic<std::uint64_t> allocator_ns{0};

    [[nodiscard]] FrameCounts counts() const noexcept {
      return {.allocations = allocations.load(std::memory_order_relaxed),
              .allocated_bytes = allocated_bytes.load(std::memory_order_relaxed),
              .deallocations = deallocations.load(std::memory_order_relaxed),
              .freed_bytes = freed_bytes.load(std::memory_order_relaxed),
              .allocator_ns = allocator_ns.load(std::memory_order_relaxed)};
    }

    void restart(FrameNumber number) noexcept {
      allocations.store(0, std::memory_order_relaxed);
      allocated_bytes.store(0, std::memory_order_relaxed);
      deallocations.store(0, std::memory_order_relaxed);
      freed_bytes.store(0, std::memory_order_relaxed);
      allocator_ns.store(0, std::memory_order_relaxed);
      frame.store(number, std::memory_order_release);
    }
  };

  Totals totals;
  ThreadFrames* next = nullptr;
  /// Stack of the block that is about to be freed.
  StackId gone_stack = kNoStackId;
  TimedCall timed{};
  /// The last timed call, until the stack of its block is known. `pending_ns` is the estimated
  /// duration of the calls that the timed call represents.
  SlowCall pending{};
  std::uint64_t pending_ns = 0;
  TypicalLatency usual_time;
  RelaxedAtomicStruct<SlowCall> slowest;
  /// The frame in which `slowest` occurred.
  std::atomic<FrameNumber> slowest_frame{0};
  /// Maximum of allocated minus freed bytes within the frame, over all tags.
  std::int64_t highest = 0;
  FrameStacks stacks;

  ALLOCTAP_ALWAYS_INLINE void allocate(TagId tag, StackId stack, std::size_t bytes) noexcept {
    part_of(tag).allocate(bytes);
    add(totals.allocations, 1);
    const std::uint64_t allocated = add(totals.allocated_bytes, bytes);
    FramePart::raise(highest, allocated, totals.freed_bytes.load(std::memory_order_relaxed));
    stacks.count(totals.frame.load(std::memory_order_relaxed), stack, bytes);
  }

  ALLOCTAP_ALWAYS_INLINE void free(TagId tag, std::size_t bytes) noexcept {
    part_of(tag).free(bytes);
    add(totals.deallocations, 1);
    add(totals.freed_bytes, bytes);
  }

  void spend(TagId tag, std::uint64_t ns) noexcept {
    part_of(tag).counts.allocator_ns += ns;
    add(totals.allocator_ns, ns);
  }

  /// Returns the number of rows that `for_each_row` visits.
  [[nodiscard]] std::size_t row_count() const noexcept {
    return tag_count_ == 0 ? 0 : 1 + tag_count_;
  }

  /// Calls `visit(TagId, const FramePart&)` for `kAllTags` and each tag of the frame.
  template <class Visit>
  void for_each_row(Visit&& visit) const {
    if (tag_count_ == 0) return;
    visit(kAllTags, FramePart{.counts = totals.counts(), .highest = highest});
    for (std::size_t i = 0; i < tag_count_; ++i) {
      const TagPart& part = parts_[order_[i]];
      visit(part.tag(), part);
    }
  }

  /// Starts frame `number` and resets all counters.
  void restart(FrameNumber number) noexcept {
    for (std::size_t i = 0; i < tag_count_; ++i) parts_[order_[i]] = {};
    tag_count_ = 0;
    highest = 0;
    totals.restart(number);
  }

 private:
  struct TagPart : FramePart {
    /// The tag plus 1; 0 for an unused entry.
    std::uint32_t tag_and_one = 0;
    [[nodiscard]] TagId tag() const noexcept { return static_cast<TagId>(tag_and_one - 1); }
  };
  static constexpr std::size_t kPlaces = 128;
  static_assert(kMaxTags < kPlaces, "there is always a free place");

  ALLOCTAP_ALWAYS_INLINE static std::uint64_t add(std::atomic<std::uint64_t>& number,
                                                  std::uint64_t more) noexcept {
    const std::uint64_t sum = number.load(std::memory_order_relaxed) + more;
    number.store(sum, std::memory_order_relaxed);
    return sum;
  }

  ALLOCTAP_ALWAYS_INLINE FramePart& part_of(TagId tag) noexcept {
    TagPart& home = parts_[tag % kPlaces];
    return home.tag_and_one == tag + std::uint32_t{1} ? home : find_or_add(tag);
  }

  ALLOCTAP_NOINLINE FramePart& find_or_add(TagId tag) noexcept {
    for (std::size_t at = tag % kPlaces;; at = (at + 1) % kPlaces) {
      TagPart& part = parts_[at];
      if (part.tag_and_one == tag + std::uint32_t{1}) return part;
      if (part.tag_and_one != 0) continue;
      // Reserves the last entry for `kOtherTags`.
      if (tag_count_ + 1 >= kMaxTags && tag != kOtherTags) return find_or_add(kOtherTags);
      part.tag_and_one = tag + std::uint32_t{1};
      order_[tag_count_++] = static_cast<std::uint8_t>(at);
      return part;
    }
  }

  TagPart parts_[kPlaces];
  std::array<std::uint8_t, kPlaces> order_{};
  std::size_t tag_count_ = 0;
};

/// Returns the time, in nanoseconds, that reading the clock adds to a measured duration. May run
/// inside malloc.
inline std::int64_t clock_cost_ns() noexcept {
  static constinit std::atomic<std::int64_t> known{-1};
  std::int64_t cost = known.load(std::memory_order_relaxed);
  if (cost >= 0) return cost;
  cost = 1'000;
  for (int i = 0; i < 32; ++i) {
    const std::int64_t begin = os::monotonic_ns();
    cost = std::min(cost, os::monotonic_ns() - begin);
  }
  known.store(cost, std::memory_order_relaxed);
  return cost;
}

/// Returns true if the thread was off the processor for most of `duration_ns`. The caller's
/// `processor_ns` advances in coarse steps, so it may be only half of the time that the thread ran.
constexpr bool has_waited(std::int64_t duration_ns, std::int64_t processor_ns) noexcept {
  return duration_ns >= os::kProcessorTimeStep && processor_ns * 2 < duration_ns;
}

/// Selects which allocator calls of a thread are timed. Times all calls of at least
/// `kLargeCallBytes`, with the thread's resource usage, which costs a system call or two. Of the
/// smaller calls, times a random one in `kTimedOneIn`, which represents the others
/// (`TypicalLatency`). Zero-initialized; small, because thread-local.
struct TimedCalls {
  /// The `until_timed`-th small call from now is timed. `dice` is the random generator's state.
  std::uint32_t until_timed;
  std::uint32_t dice;
  /// Size of the block that is about to be freed.
  std::size_t gone_bytes;

  /// Returns true if this call is to be timed. For a free, also sets `bytes` to the block's size.
  ALLOCTAP_ALWAYS_INLINE bool takes(AllocatorCall call, std::size_t& bytes) noexcept {
    if (call != AllocatorCall::kAllocate) {
      const std::size_t gone = std::exchange(gone_bytes, 0);
      if (call == AllocatorCall::kFree) bytes = gone;
    }
    if (bytes >= kLargeCallBytes || until_timed <= 1) [[unlikely]] {
      return true;
    }
    --until_timed;
    return false;
  }

  void begin(AllocatorCall call, std::size_t bytes, TimedCall& timed) noexcept {
    timed = {.weight = 1, .call = call, .bytes = bytes};
    if (bytes >= kLargeCallBytes) {
      timed.has_usage = os::read_thread_usage(timed.usage);
    } else {
      timed.weight = kTimedOneIn;
      until_timed = next_distance();
    }
    timed.begin_ns = os::monotonic_ns();
  }

 private:
  /// Returns a uniform random number from 1 to `2 * kTimedOneIn - 1`, because a fixed interval
  /// could match a pattern of the program's calls.
  std::uint32_t next_distance() noexcept {
    if (dice == 0) dice = static_cast<std::uint32_t>(os::monotonic_ns()) | 1;
    // Marsaglia, "Xorshift RNGs", 2003.
    dice ^= dice << 13;
    dice ^= dice >> 17;
    dice ^= dice << 5;
    return 1 + (dice >> 8) % (2 * kTimedOneIn - 1);
  }
};

/// Attributes measured durations to tags and stacks. Runs inside malloc, on the timed thread.
struct FrameTiming {
  /// Ends the timing of a call, and attributes its duration to `tag`, the thread's current tag.
  static void end(ThreadFrames& thread, const TimedCall& timed, TagId tag) noexcept;

  /// Attributes the duration of the last timed call to `stack`, which allocated the block that the
  /// call returned or freed. Only discards the call if its block has another size than `bytes`.
  static void settle(ThreadFrames& thread, StackId stack, std::size_t bytes) noexcept;

 private:
  static void add_usage(SlowCall& call, const os::ThreadUsage& before) noexcept;
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/game/impl/thread_frames.hpp"
#endif
