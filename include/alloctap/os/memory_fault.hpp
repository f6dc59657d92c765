/// Description of a memory fault, and the callback type that handles it.
#pragma once

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
  /// The previous fault handler is called; if there was no handler, the process ends.
  kPassOn,
  /// The thread repeats the access, because the listener has made it possible.
  kRetry,
};

/// Callback for memory faults. Runs in a signal or exception handler, on the faulting thread.
using FaultListener = FaultVerdict (*)(const MemoryFault& fault) noexcept;

}  // namespace alloctap::os
