/// A recording section that the program does not notice.
#pragma once

#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// A `RecordingScope` at whose end the error number of the program's last system call is what it
/// was at the beginning. On Linux its place is known to the thread's state: finding it by a call of
/// the C library, twice for each pair of allocation and free, is slower than using it.
///
/// The error number is the first base, so the last to go: waiting at the gate is a system call.
class ErrnoSafeRecordingScope : os::ErrnoGuard, public RecordingScope {
 public:
  ALLOCTAP_ALWAYS_INLINE ErrnoSafeRecordingScope() noexcept
      : ErrnoSafeRecordingScope(ThreadStates::mine()) {}
  /// Inlined: a call of it would keep in memory what else stays in registers.
  ALLOCTAP_ALWAYS_INLINE ~ErrnoSafeRecordingScope() {}

 private:
  ALLOCTAP_ALWAYS_INLINE explicit ErrnoSafeRecordingScope(ThreadState* mine) noexcept
      : ErrnoGuard(mine != nullptr ? mine->error : os::ErrnoSlot::mine()), RecordingScope(mine) {}
};

}  // namespace alloctap
