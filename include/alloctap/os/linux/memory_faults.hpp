// A page without access is told by SIGSEGV.
#pragma once

#include <atomic>
#include <csignal>

#include "alloctap/os/fault_listeners.hpp"
#include "alloctap/os/memory_faults.hpp"

namespace alloctap::os {

/// What a handler with SA_SIGINFO was told of; an address of 0 where no access was refused.
MemoryFault fault_of(const siginfo_t& info, const void* context) noexcept;

/// SIGSEGV, and who handled it before.
class FaultSignal {
 public:
  static bool take_over() noexcept;

  /// Another handler has the signal, and gets it back: the next `take_over` counts as the first.
  static void forget() noexcept { taken_.store(false); }

 private:
  static void handle(int number, siginfo_t* info, void* context) noexcept;

  static void pass_on(int number, siginfo_t* info, void* context) noexcept;

  /// By the instruction that faulted, which is executed once more; or by the signal, if another
  /// thread or process sent it.
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
