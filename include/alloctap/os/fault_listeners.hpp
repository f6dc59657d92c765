/// List of memory fault listeners, for the implementations of `memory_faults.hpp`.
#pragma once

#include <array>
#include <atomic>

#include "alloctap/os/memory_fault.hpp"

namespace alloctap::os {

inline constexpr int kMaxFaultListeners = 8;

inline constinit std::array<std::atomic<FaultListener>, kMaxFaultListeners> fault_listeners{};

/// Adds `listener`; does nothing if it was added before. Returns false if the list is full.
inline bool add_fault_listener(FaultListener listener) noexcept {
  for (std::atomic<FaultListener>& place : fault_listeners) {
    FaultListener present = nullptr;
    if (place.compare_exchange_strong(present, listener) || present == listener) return true;
  }
  return false;
}

/// Calls the listeners in the order of their registration until one returns kRetry. A program's own
/// fault handler may call this function for faults that it receives.
inline FaultVerdict ask_fault_listeners(const MemoryFault& fault) noexcept {
  for (const std::atomic<FaultListener>& place : fault_listeners) {
    const FaultListener listener = place.load(std::memory_order_acquire);
    if (listener == nullptr) break;
    if (listener(fault) == FaultVerdict::kRetry) return FaultVerdict::kRetry;
  }
  return FaultVerdict::kPassOn;
}

}  // namespace alloctap::os
