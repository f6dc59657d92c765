/// Memory faults by SIGSEGV, and their access type from the signal context.
#pragma once

#include <ucontext.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include "alloctap/os/memory_faults.hpp"

namespace alloctap::os {

#if defined(__x86_64__)

/// Returns the access type from bit 1 of the page fault's error code (Intel SDM, volume 3, 4.7).
inline FaultAccess access_of(const ucontext_t& context) noexcept {
  constexpr std::uint64_t kWrites = 2;
  const auto error = static_cast<std::uint64_t>(context.uc_mcontext.gregs[REG_ERR]);
  return (error & kWrites) != 0 ? FaultAccess::kWrite : FaultAccess::kRead;
}

inline std::uintptr_t code_of(const ucontext_t& context) noexcept {
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
}

#elif defined(__aarch64__)

/// Returns the access type of a load or store. Loads have bit 22 set; those of one general
/// register, bit 22 or 23 (Arm ARM, C4.1, "Loads and stores"). Atomic operations are writes.
inline FaultAccess access_of_instruction(std::uint32_t code) noexcept {
  constexpr std::uint32_t kGroup = 0x0A000000;
  constexpr std::uint32_t kLoadsOrStores = 0x08000000;
  if ((code & kGroup) != kLoadsOrStores) return FaultAccess::kUnknown;
  const bool is_single = (code & 0x38000000) == 0x38000000;
  const bool is_atomic = is_single && (code & 0x01200C00) == 0x00200000;
  if (is_atomic) return FaultAccess::kWrite;
  const bool is_vector = (code & 0x04000000) != 0;
  const bool is_load = is_single && !is_vector ? (code >> 22 & 3) != 0 : (code >> 22 & 1) != 0;
  return is_load ? FaultAccess::kRead : FaultAccess::kWrite;
}

inline std::uintptr_t code_of(const ucontext_t& context) noexcept { return context.uc_mcontext.pc; }

/// Returns the access type from the exception syndrome (ESR_EL1.ISS.WnR, bit 6), if the kernel
/// passes it (`struct esr_context` in arch/arm64/include/uapi/asm/sigcontext.h). Otherwise decodes
/// the instruction.
inline FaultAccess access_of(const ucontext_t& context) noexcept {
  struct Record {
    std::uint32_t magic;
    std::uint32_t bytes;
    std::uint64_t syndrome;
  };
  constexpr std::uint32_t kSyndrome = 0x45535201;
  constexpr std::uint64_t kWrites = 1 << 6;
  const auto& records = context.uc_mcontext.__reserved;
  for (std::size_t at = 0; at + sizeof(Record) <= sizeof records;) {
    const auto& record = reinterpret_cast<const Record&>(records[at]);
    if (record.magic == 0 || record.bytes < 8) break;
    if (record.magic == kSyndrome) {
      return (record.syndrome & kWrites) != 0 ? FaultAccess::kWrite : FaultAccess::kRead;
    }
    at += record.bytes;
  }
  return access_of_instruction(*reinterpret_cast<const std::uint32_t*>(code_of(context)));
}

#else
#error "alloctap/os/linux/memory_faults.hpp does not know this architecture"
#endif

/// Returns the fault that a handler with SA_SIGINFO received. The fault's address is 0 if the
/// signal did not come from a memory access.
MemoryFault fault_of(const siginfo_t& info, const void* context) noexcept;

/// The tracker's SIGSEGV handler and the previous one.
class FaultSignal {
 public:
  static bool take_over() noexcept;

  /// Records that another handler has replaced this one. `take_over` then reinstalls this one.
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
