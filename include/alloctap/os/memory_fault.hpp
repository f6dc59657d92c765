/// An access that the processor refused, and who is asked what becomes of it.
#pragma once

#include <cstdint>

namespace alloctap::os {

enum class FaultAccess : std::uint8_t { kUnknown, kRead, kWrite };

/// An access that the processor refused.
struct MemoryFault {
  /// What was accessed.
  std::uintptr_t address = 0;
  /// The instruction that did.
  std::uintptr_t code = 0;
  FaultAccess access = FaultAccess::kUnknown;
};

/// What is to become of a thread after a fault.
enum class FaultVerdict : std::uint8_t {
  /// The next handler decides; without one, the process ends.
  kPassOn,
  /// It does its access again, which will succeed.
  kRetry,
};

/// Runs in a signal handler or an exception handler, on the thread that faulted.
using FaultListener = FaultVerdict (*)(const MemoryFault& fault) noexcept;

}  // namespace alloctap::os
