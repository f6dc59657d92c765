#pragma once

#include <string>
#include <vector>

namespace alloctap::run {

/// Returns the names of all libraries that the loader will load with the program at `path`: those
/// that it needs, that LD_PRELOAD names, and that others of them need. One that is not found is
/// named too, without what it needs.
[[nodiscard]] std::vector<std::string> needed_libraries(const std::string& path);

}  // namespace alloctap::run
