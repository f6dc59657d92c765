/// Definitions for event/offered_annotations.hpp.
#pragma once

#include <atomic>

#include "alloctap/event/offered_annotations.hpp"
#include "alloctap/macros.hpp"

namespace alloctap {

ALLOCTAP_INLINE void OfferedAnnotations::offer(const alloctap_slots& more) noexcept {
  for_each_slot(offered_, more, [](auto& mine, auto* theirs) {
    if (theirs != nullptr) std::atomic_ref(mine).store(theirs, std::memory_order_release);
  });
  offer_to_new_modules();
}

ALLOCTAP_INLINE void OfferedAnnotations::fill(alloctap_slots& slots) noexcept {
  for_each_slot(slots, withheld_, [](auto& slot, auto* withheld) {
    const std::atomic_ref theirs(slot);
    if (theirs.load(std::memory_order_relaxed) == withheld) {
      theirs.store(nullptr, std::memory_order_relaxed);
    }
  });
  for_each_slot(slots, offered_, [](auto& slot, auto& offered) {
    const std::atomic_ref theirs(slot);
    if (theirs.load(std::memory_order_relaxed) != nullptr) return;
    theirs.store(std::atomic_ref(offered).load(std::memory_order_acquire),
                 std::memory_order_release);
  });
}

}  // namespace alloctap
