/// Live bytes and their peak, counted without a shared counter that every event writes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "alloctap/macros.hpp"
#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

/// A sharded counter. Each thread counts in its own share. When the unpublished part of a share
/// exceeds a step, the thread adds that part to a shared sum. The peak is the maximum of the sum.
///
/// With one thread the peak is exact. With n threads it is accurate to 1/512, or to 4 KiB per
/// thread if that is more, because the sum lacks unpublished parts. Let h be n rounded down to a
/// power of two. A step is peak / (1024 h), but at least 4 KiB, so that threads of a small heap
/// rarely publish. While h is constant, n is less than 2 h, and each thread withholds at most a
/// step. When h doubles, the new thread publishes all other shares, because an idle thread may
/// withhold an older, larger step.
///
/// If `remove` returns true, the caller may take a peak snapshot, and must then call
/// `note_peak_snapshot`.
///
/// `join`, `add` and `remove` run inside malloc, on the thread that owns the share. `peak` requires
/// a stopped world; a consistent result of `live` does, too. Constant-initialized, never destroyed.
class LiveBytes {
 public:
  /// The share of one thread. Only that thread writes the share, except for `published`. Never
  /// destroyed after `join`.
  struct Share {
    /// The bytes that this thread allocated, minus the bytes that it freed, since the start.
    std::atomic<std::int64_t> total{0};
    /// The maximum of `total`.
    std::atomic<std::int64_t> highest{0};
    /// The part of `total` that was added to the shared sum.
    std::atomic<std::int64_t> published{0};
    Share* next = nullptr;
  };

  constexpr LiveBytes() noexcept = default;

  /// Adds a share to the list. Must be called once, before other uses of `share`.
  void join(Share& share) noexcept;

  ALLOCTAP_ALWAYS_INLINE void add(Share& share, std::uint64_t bytes) noexcept {
    const std::int64_t total = get(share.total) + static_cast<std::int64_t>(bytes);
    set(share.total, total);
    if (total > get(share.highest)) set(share.highest, total);
    if (total - get(share.published) > get(step_)) [[unlikely]] {
      publish(share);
    }
  }

  /// Subtracts `bytes` from the share. Returns true if the live bytes have fallen by more than
  /// 1/256 of the peak, and the peak has no snapshot yet.
  ALLOCTAP_ALWAYS_INLINE bool remove(Share& share, std::uint64_t bytes) noexcept {
    const std::int64_t total = get(share.total) - static_cast<std::int64_t>(bytes);
    set(share.total, total);
    if (get(share.published) - total > get(step_)) [[unlikely]] {
      return publish_fall(share);
    }
    return false;
  }

  /// Marks the peak as handled: `remove` returns false until the peak has risen by more than 1/256
  /// and 4 KiB.
  void note_peak_snapshot() noexcept { set(snapshot_peak_, get(peak_)); }

  /// Returns the live bytes of all threads.
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

  /// Publishes the shares of idle threads. A thread that withholds more than `most` (the previous
  /// step) is about to publish by itself. If it publishes concurrently, the exchange here fails.
  void publish_for_others(std::int64_t most) noexcept;

  void add_to_sum(std::int64_t bytes) noexcept {
    raise_peak(sum_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
  }

  void raise_peak(std::int64_t live) noexcept;

  /// Raises the step only by more than 1/4, because every thread reads the step at every event.
  void set_step() noexcept;

  /// Read at each event, so not in a cache line that is often written.
  alignas(64) Bytes step_{kLeastStep};
  /// Written when a thread publishes.
  alignas(64) Bytes sum_{0};
  Bytes peak_{0};
  /// The peak at the last `note_peak_snapshot`.
  Bytes snapshot_peak_{0};
  FutexLock lock_;
  std::atomic<Share*> first_{nullptr};
  std::atomic<std::uint32_t> threads_{0};
};

}  // namespace alloctap

#ifndef ALLOCTAP_COMPILED
#include "alloctap/record/impl/live_bytes.hpp"
#endif
