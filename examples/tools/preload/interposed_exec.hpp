/// The exec family, interposed.
#pragma once

namespace alloctap::run {

/// Looks up the C library's functions. Called before the first fork: in a child, the loader's lock
/// may be held for ever.
void find_exec_functions() noexcept;

}  // namespace alloctap::run
