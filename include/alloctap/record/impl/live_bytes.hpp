/// Definitions for record/live_bytes.hpp.
#pragma once

#include <bit>
#include <mutex>

#include "alloctap/record/live_bytes.hpp"

namespace alloctap {

ALLOCTAP_INLINE void LiveBytes::join(Share& share) noexcept {
  const std::lock_guard hold(lock_);
  const std::int64_t step_before = get(step_);
  const std::uint32_t threads = threads_.load(std::memory_order_relaxed) + 1;
  threads_.store(threads, std::memory_order_relaxed);
  set_step();
  if (threads == 2) raise_peak(get(first_.load(std::memory_order_relaxed)->highest));
  if (std::has_single_bit(threads)) publish_for_others(step_before);
  set_step();
  share.next = first_.load(std::memory_order_relaxed);
  first_.store(&share, std::memory_order_release);
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE void LiveBytes::publish(Share& share) noexcept {
  const std::int64_t total = get(share.total);
  add_to_sum(total - share.published.exchange(total, std::memory_order_relaxed));
  set_step();
}

ALLOCTAP_NOINLINE ALLOCTAP_INLINE bool LiveBytes::publish_fall(Share& share) noexcept {
  publish(share);
  if (threads_.load(std::memory_order_relaxed) == 1) raise_peak(get(share.highest));
  const std::int64_t peak = get(peak_);
  return peak - get(sum_) > peak / kFall &&
         peak - get(snapshot_peak_) > std::max(peak / kRise, kLeastStep);
}

ALLOCTAP_INLINE void LiveBytes::publish_for_others(std::int64_t most) noexcept {
  for (Share* share = first_.load(std::memory_order_relaxed); share != nullptr;
       share = share->next) {
    std::int64_t published = get(share->published);
    const std::int64_t total = get(share->total);
    const std::int64_t rest = total - published;
    if (std::max(rest, -rest) <= most &&
        share->published.compare_exchange_strong(published, total, std::memory_order_relaxed)) {
      add_to_sum(rest);
    }
  }
}

ALLOCTAP_INLINE void LiveBytes::raise_peak(std::int64_t live) noexcept {
  std::int64_t peak = get(peak_);
  while (live > peak && !peak_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

ALLOCTAP_INLINE void LiveBytes::set_step() noexcept {
  const std::uint32_t threads = threads_.load(std::memory_order_relaxed);
  const std::int64_t share = get(peak_) / (kStepsInPeak * std::int64_t{std::bit_floor(threads)});
  const std::int64_t wanted = std::max(share, kLeastStep);
  const std::int64_t present = get(step_);
  if (wanted < present || wanted - present > present / 4) set(step_, wanted);
}

}  // namespace alloctap
