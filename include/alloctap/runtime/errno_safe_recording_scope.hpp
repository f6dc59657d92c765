/// A recording scope that preserves errno.
#pragma once

#include "alloctap/macros.hpp"
#include "alloctap/os/errno_guard.hpp"
#include "alloctap/runtime/thread_state.hpp"

namespace alloctap {

/// A `RecordingScope` whose destructor restores errno. On Linux `ThreadState` caches the address of
/// errno, because two calls of the C library for each malloc/free pair cost more.
///
/// `ErrnoGuard` is the first base and so is destroyed last, because the destructor of
/// `RecordingScope` may make a system call that changes errno.
class ErrnoSafeRecordingScope : os::ErrnoGuard, public RecordingScope {
 public:
  ALLOCTAP_ALWAYS_INLINE ErrnoSafeRecordingScope() noexcept
      : ErrnoSafeRecordingScope(ThreadStates::mine()) {}
  /// Inlined, because a call would force the caller's values from registers into memory.
  ALLOCTAP_ALWAYS_INLINE ~ErrnoSafeRecordingScope() {}

 private:
  ALLOCTAP_ALWAYS_INLINE explicit ErrnoSafeRecordingScope(ThreadState* mine) noexcept
      : ErrnoGuard(mine != nullptr ? mine->error : os::ErrnoSlot::mine()), RecordingScope(mine) {}
};

}  // namespace alloctap
