/// The most bytes that were live at one time, without a counter that all threads write.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

/// Each thread keeps what it has added to the live bytes in a share of its own, and publishes it
/// when the unpublished part passes a step. What is published is one shared sum; the peak is the
/// highest that the sum has been.
///
/// One thread alone keeps its highest value: its peak is exact. With more, the peak is within 1/512
/// of the truth, or within 4 KiB per thread where that is more, whatever they do: the sum differs
/// from the live bytes by what n threads keep back. Let h be n rounded down to a power of two; a
/// step is peak / (1024 h), but 4 KiB at least, so that a small heap is no reason to meet at each
/// event. While h stays, each thread keeps back a step at most, and there are less than 2 h of
/// them. When h doubles, the newcomer publishes for all others, because one that rests may have
/// kept back a step of former times.
///
/// Who wants to know what was live at the peak looks when `remove` says that the peak is over, and
/// tells with `note_picture` that it did.
///
/// `join`, `add` and `remove` run inside malloc, on the thread that owns the share; `peak` behind
/// the closed gate, and `live` too, unless it need not be of one moment. Constant-initialized,
/// never destroyed.
class LiveBytes {
 public:
  /// One thread's. Only its owner writes, but for `published`. Not destroyed once it has joined.
  struct Share {
    /// Bytes that this thread allocated minus bytes that it freed, since ever.
    std::atomic<std::int64_t> total{0};
    /// The most that `total` was.
    std::atomic<std::int64_t> highest{0};
    /// What of `total` is in the sum.
    std::atomic<std::int64_t> published{0};
    Share* next = nullptr;
  };

  constexpr LiveBytes() noexcept = default;

  /// Before the first use of `share`.
  void join(Share& share) noexcept;

  ALLOCTAP_ALWAYS_INLINE void add(Share& share, std::uint64_t bytes) noexcept {
    const std::int64_t total = get(share.total) + static_cast<std::int64_t>(bytes);
    set(share.total, total);
    if (total > get(share.highest)) set(share.highest, total);
    if (total - get(share.published) > get(step_)) [[unlikely]] {
      publish(share);
    }
  }

  /// Whether a peak that there is no picture of is just over: the live bytes have fallen below it
  /// by 1/256, or by what was removed now.
  ALLOCTAP_ALWAYS_INLINE bool remove(Share& share, std::uint64_t bytes) noexcept {
    const std::int64_t total = get(share.total) - static_cast<std::int64_t>(bytes);
    set(share.total, total);
    if (get(share.published) - total > get(step_)) [[unlikely]] {
      return publish_fall(share);
    }
    return false;
  }

  /// From now on only a peak that is higher, by 1/256 and 4 KiB, wants a picture.
  void note_picture() noexcept { set(pictured_, get(peak_)); }

  /// What is live now, of all threads.
  [[nodiscard]] std::uint64_t live() const noexcept {
    std::int64_t live = 0;
    for (const Share* share = first_.load(std::memory_order_acquire); share != nullptr;
         share = share->next) {
      live += get(share->total);
    }
    return static_cast<std::uint64_t>(std::max<std::int64_t>(live, 0));
  }

  [[nodiscard]] std::uint64_t peak() const noexcept {
    const bool alone = threads_.load(std::memory_order_relaxed) == 1;
    std::int64_t live = get(sum_);
    for (const Share* share = first_.load(std::memory_order_acquire); share != nullptr;
         share = share->next) {
      live += get(alone ? share->highest : share->total) - get(share->published);
    }
    return static_cast<std::uint64_t>(std::max(live, get(peak_)));
  }

 private:
  using Bytes = std::atomic<std::int64_t>;

  static constexpr std::int64_t kStepsInPeak = 1024;
  static constexpr std::int64_t kLeastStep = 4096;
  static constexpr std::int64_t kFall = 256;
  static constexpr std::int64_t kRise = 256;

  static std::int64_t get(const Bytes& bytes) noexcept {
    return bytes.load(std::memory_order_relaxed);
  }
  static void set(Bytes& bytes, std::int64_t value) noexcept {
    bytes.store(value, std::memory_order_relaxed);
  }

  void publish(Share& share) noexcept;

  bool publish_fall(Share& share) noexcept;

  /// For those that rest. One that keeps back more than `most`, the step so far, is about to
  /// publish; if it just does, the exchange fails.
  void publish_for_others(std::int64_t most) noexcept;

  void add_to_sum(std::int64_t bytes) noexcept {
    raise_peak(sum_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
  }

  void raise_peak(std::int64_t live) noexcept;

  /// Every thread reads the step at every event, so it is raised only where that is worth while.
  void set_step() noexcept;

  /// Read at each event.
  alignas(64) Bytes step_{kLeastStep};
  /// Written when a thread publishes.
  alignas(64) Bytes sum_{0};
  Bytes peak_{0};
  /// The peak when a picture was taken last.
  Bytes pictured_{0};
  FutexLock lock_;
  std::atomic<Share*> first_{nullptr};
  std::atomic<std::uint32_t> threads_{0};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/record/impl/live_bytes.hpp"
#endif
