/// A recording scope that preserves errno.
#pragma once

#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// A `RecordingScope` that saves errno and restores it at its end. On Linux the thread's state
/// caches the address of errno: asking the C library twice per malloc/free pair costs more.
///
/// `ErrnoGuard` is the first base, so it is destroyed last: leaving the scope may make a system
/// call.
class ErrnoSafeRecordingScope : os::ErrnoGuard, public RecordingScope {
 public:
  ALLOCTAP_ALWAYS_INLINE ErrnoSafeRecordingScope() noexcept
      : ErrnoSafeRecordingScope(ThreadStates::mine()) {}
  /// Inlined: a call would force values from registers into memory.
  ALLOCTAP_ALWAYS_INLINE ~ErrnoSafeRecordingScope() {}

 private:
  ALLOCTAP_ALWAYS_INLINE explicit ErrnoSafeRecordingScope(ThreadState* mine) noexcept
      : ErrnoGuard(mine != nullptr ? mine->error : os::ErrnoSlot::mine()), RecordingScope(mine) {}
};

}  // namespace alloctap
