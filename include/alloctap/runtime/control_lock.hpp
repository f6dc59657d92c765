/// The lock that serializes start, stop, snapshots and dumps.
#pragma once

#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

using ControlLock = FutexLock;

/// Serializes start, stop, snapshot and dump. Acquired before every other lock of the tracker.
/// Hooks acquire it only by `try_lock`.
inline constinit ControlLock control_lock;

}  // namespace alloctap
