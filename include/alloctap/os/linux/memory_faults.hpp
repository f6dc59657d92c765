/// Memory faults by SIGSEGV.
#pragma once

#include <atomic>
#include <csignal>

#include "alloctap/os/fault_listeners.hpp"
#include "alloctap/os/memory_faults.hpp"

namespace alloctap::os {

/// Returns the fault that a handler with SA_SIGINFO received; its address is 0 if the signal did
/// not come from a memory access.
MemoryFault fault_of(const siginfo_t& info, const void* context) noexcept;

/// The tracker's SIGSEGV handler and the previous one.
class FaultSignal {
 public:
  static bool take_over() noexcept;

  /// Stores that another handler replaced ours. `take_over` can then reinstall ours.
  static void forget() noexcept { taken_.store(false); }

 private:
  static void handle(int number, siginfo_t* info, void* context) noexcept;

  static void pass_on(int number, siginfo_t* info, void* context) noexcept;

  /// Ends the process by repeating the faulting instruction. If another thread or process sent the
  /// signal, raises the signal again instead.
  static void end_process(const siginfo_t& info) noexcept;

  static inline constinit std::atomic<bool> taken_{false};
  static inline constinit struct sigaction previous_{};
};

inline bool catch_memory_faults(FaultListener listener) noexcept {
  return add_fault_listener(listener) && FaultSignal::take_over();
}

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/memory_faults.hpp"
#endif
