/// Memory faults: their description, the list of listeners, and the installation of a listener.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace alloctap::os {

enum class FaultAccess : std::uint8_t { kUnknown, kRead, kWrite };

/// A memory access that raised a fault.
struct MemoryFault {
  /// Accessed address.
  std::uintptr_t address = 0;
  /// Address of the faulting instruction.
  std::uintptr_t code = 0;
  FaultAccess access = FaultAccess::kUnknown;
};

/// Result of a fault listener.
enum class FaultVerdict : std::uint8_t {
  /// The listener did not handle the fault. If no other listener does, the previous fault handler
  /// is called or, without one, the process ends.
  kPassOn,
  /// The thread repeats the access, because the listener has made it possible.
  kRetry,
};

/// Callback for memory faults. Runs in a signal or exception handler, on the faulting thread.
using FaultListener = FaultVerdict (*)(const MemoryFault& fault) noexcept;

inline constexpr int kMaxFaultListeners = 8;

inline constinit std::array<std::atomic<FaultListener>, kMaxFaultListeners> fault_listeners{};

/// Adds `listener` to the list of `catch_memory_faults`; does nothing if the list contains it.
/// Returns false if the list is full.
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

/// Calls `listener` for each memory fault, after the listeners added earlier. If no listener
/// returns kRetry, the handler that was installed before the tracker's runs; without such a
/// handler, the process ends with a core dump. Linux has one handler per signal, so a handler that
/// the program installs later replaces the tracker's, but may call `ask_fault_listeners`.
///
/// Returns false if the system refuses, or if `kMaxFaultListeners` are registered. Adding a
/// listener again has no effect. May run inside malloc. errno may change.
bool catch_memory_faults(FaultListener listener) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/memory_faults.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/memory_faults.hpp"
#else
#error "alloctap/os/memory_faults.hpp has no implementation for this system"
#endif
