/// The mappings of this process, and the bounds of thread stacks in them.
///
/// Reads the mappings from the kernel, not from the loader's list, because a stopped thread may
/// hold the loader lock. Allocates nothing; may run inside malloc and inside a signal handler.
/// Costs a few system calls. errno may change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace alloctap::os {

/// One mapped range `[start, end)`. `path` is valid only during the visit. For anonymous memory
/// `path` is empty; names that the kernel made up start with '['.
struct MemoryRegion {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
  std::uint64_t file_offset = 0;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  /// True for a shared mapping: other processes may see writes to it.
  bool shared = false;
  /// True for reserved address space without memory.
  bool reserved = false;
  /// True if the mapped file was removed or replaced later, so `path` may name another file.
  bool is_gone = false;
  std::string_view path;
};

/// Length up to which lines of the memory map are parsed; longer paths are cut.
inline constexpr std::size_t kMemoryMapLine = 4096 + 128;

/// Calls `visit(const MemoryRegion&)` for every region, by ascending address, until `visit` returns
/// false. Uses no memory except `buffer`, of at least `kMemoryMapLine` bytes. Returns false if the
/// map cannot be read.
template <class Visit>
bool visit_memory_map(std::span<char> buffer, Visit&& visit) noexcept;

/// Visits regions as `visit_memory_map` does, but takes no lock of a system library, so it may run
/// while all other threads are stopped. If file names cannot be read without such locks, the path
/// of every mapped file is "?".
template <class Visit>
bool visit_nameless_memory_map(std::span<char> buffer, Visit&& visit) noexcept;

/// Returns true if `region` may contain a module: it maps a file or the kernel's vdso.
bool may_hold_module(const MemoryRegion& region) noexcept;

/// Copies readable memory at `address` to `buffer`. Returns the number of bytes copied. Never
/// faults, even if another thread unmaps the memory, or beyond the end of a mapped file or device.
///
/// The constant `kCopiesProtectedMemory` is true if `copy_memory` can read private memory whose
/// protection forbids reads. The constant `kPrivateMemoryIsPlain` is true if plain loads from
/// readable private anonymous memory do not fault, as long as no thread changes the mapping: only
/// page protection can forbid an access, because no device backs such memory.
std::size_t copy_memory(std::uintptr_t address, std::span<std::byte> buffer) noexcept;

/// Calls `visit(start, end)` for the subranges of `[start, end)` that may hold nonzero bytes. The
/// range must be private anonymous memory. Subranges are whole pages, clipped to the range.
template <class Visit>
void visit_present_pages(std::uintptr_t start, std::uintptr_t end, Visit&& visit) noexcept;

/// Readable address range `[low, high)` of a stack; empty if not found.
struct StackBounds {
  std::uintptr_t low = 0;
  std::uintptr_t high = 0;

  [[nodiscard]] bool contains(std::uintptr_t address) const noexcept {
    return address >= low && address < high;
  }
};

/// Returns the mapped range around `address`, an address on some stack. Queries the kernel, because
/// the thread library's functions allocate and take locks. Callers should cache the result. The
/// main thread's stack may grow down later, so only its `high` is a permanent bound.
StackBounds find_stack_bounds(std::uintptr_t address) noexcept;

/// Returns the process's initial stack pointer; the highest address if unknown. All frames of the
/// main thread are below that address. Stacks of other threads may be above.
std::uintptr_t initial_stack_pointer() noexcept;

/// Returns true if a frame with the stack pointer `sp` is the process's initial frame, which unwind
/// tables do not mark as outermost. Preserves errno.
bool is_initial_frame(std::uintptr_t sp) noexcept;

}  // namespace alloctap::os

#if defined(__linux__)
#include "alloctap/os/linux/memory_map.hpp"
#elif defined(_WIN32)
#include "alloctap/os/windows/memory_map.hpp"
#else
#error "alloctap/os/memory_map.hpp has no implementation for this system"
#endif
