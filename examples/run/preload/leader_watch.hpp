/// Whether the thread that the process is named by has left.
#pragma once

namespace alloctap::run {

/// Watches the calling thread, which is the leader of its thread group. Again in the child of a
/// fork. Control plane.
void watch_leader() noexcept;

/// Returns true once the leader has left, in any way: by return, pthread_exit, cancellation or
/// exit(2). Makes no system call. For the thread that writes reports.
[[nodiscard]] bool leader_has_left() noexcept;

}  // namespace alloctap::run
