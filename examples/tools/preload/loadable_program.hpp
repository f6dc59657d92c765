/// Which programs our object can be loaded into.
#pragma once

namespace alloctap::run {

/// Returns false if the program at `path` is of another machine or C library, linked statically, or
/// run with other ids. A script counts as its interpreter. Returns true if `path` cannot be read:
/// exec has the last word. Allocates nothing; errno may change.
[[nodiscard]] bool is_loadable_into(const char* path) noexcept;

}  // namespace alloctap::run
