/// The mappings of this process, read from the kernel.
///
/// Does not use the loader's list: a stopped thread may hold the loader lock. Allocates nothing;
/// may run inside malloc and inside a signal handler. Costs a few system calls. errno may change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace alloctap::os {

/// One mapped range `[start, end)`. `path` is valid only during the visit. It is empty for
/// anonymous memory and starts with '[' for the system's own names.
struct MemoryRegion {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
  std::uint64_t file_offset = 0;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  /// Shared mapping: other processes may see writes to it.
  bool shared = false;
  /// Reserved address space without memory.
  bool reserved = false;
  /// The file was removed or replaced since it was mapped; `path` may name another file.
  bool is_gone = false;
  std::string_view path;
};

/// Longest line of the memory map that is parsed; longer paths are cut.
inline constexpr std::size_t kMemoryMapLine = 4096 + 128;

/// Calls `visit(const MemoryRegion&)` for every region by ascending address until it returns false.
/// Uses no memory except `buffer`, of at least `kMemoryMapLine` bytes. Returns false if the map
/// cannot be read.
template <class Visit>
bool visit_memory_map(std::span<char> buffer, Visit&& visit) noexcept;

/// Visits regions as `visit_memory_map` does, while all other threads are stopped and may hold any
/// lock of system libraries. If reading file names needs such locks, a file's region has the path
/// "?".
template <class Visit>
bool visit_nameless_memory_map(std::span<char> buffer, Visit&& visit) noexcept;

/// Returns whether a module may be mapped at `region`: it maps a file or the kernel's vdso.
bool may_hold_module(const MemoryRegion& region) noexcept;

/// Copies readable memory at `address` to `buffer` and returns the number of bytes. Does not fault
/// if another thread unmaps the memory, or if it is beyond its file's end or a device's.
std::size_t copy_memory(std::uintptr_t address, std::span<std::byte> buffer) noexcept;

// `kPrivateMemoryIsPlain`, a constant of every system: whether readable private anonymous memory
// can be read in place without faults, as long as no thread changes its mapping. Only its
// protection can then forbid an access, and no device backs it.

// `kCopiesProtectedMemory`, a constant of every system: whether `copy_memory` can read private
// memory whose protection forbids reads.

/// Calls `visit(start, end)` for the parts of `[start, end)`, private anonymous memory, that may
/// hold nonzero bytes. Parts are whole pages, clipped to the range.
template <class Visit>
void visit_present_pages(std::uintptr_t start, std::uintptr_t end, Visit&& visit) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/memory_map.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/memory_map.hpp"
#else
#error "alloctap/os/memory_map.hpp has no implementation for this system"
#endif
