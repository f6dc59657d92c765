/// The lock of the control plane.
#pragma once

#include "alloctap/runtime/futex_lock.hpp"

namespace alloctap {

using ControlLock = FutexLock;

/// Serializes start, stop, snapshot and dump. Taken before every other lock of the tracker, never
/// inside a hook.
inline constinit ControlLock control_lock;

}  // namespace alloctap
