// Windows makes no copy of a process that could be read: NtCreateProcess clones one, but its clone
// has no use of most libraries, and neither it nor its like are documented.
#pragma once

#include "alloctap/os/process_copy.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap::os {

constexpr bool can_copy_process() noexcept { return false; }

inline void* map_shared_pages(std::size_t bytes) noexcept { return map_pages(bytes); }

inline std::size_t count_threads() noexcept { return 1; }

inline int ProcessCopy::start(const CopyRequest&) noexcept { return -1; }

inline void ProcessCopy::wait() noexcept {}

}  // namespace alloctap::os
