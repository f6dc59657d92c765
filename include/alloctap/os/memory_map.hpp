/// The address space of this process as the system describes it.
///
/// Read from the system and not from the loader's list: the loader's lock may be held by a thread
/// that is stopped, and this must work then too. Allocates nothing; may run inside malloc and
/// inside a signal handler, and costs a few system calls. errno may change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace alloctap::os {

/// One mapped range `[start, end)`. `path` is valid only during the visit; it is empty for
/// anonymous memory and starts with '[' for what the system names itself.
struct MemoryRegion {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
  std::uint64_t file_offset = 0;
  bool readable = false;
  bool writable = false;
  bool executable = false;
  /// Others may see what is written there.
  bool shared = false;
  /// Reserved addresses: nothing is mapped there yet.
  bool reserved = false;
  /// The file was removed or replaced since: another one may be at `path`.
  bool is_gone = false;
  std::string_view path;
};

/// The longest line of the description that is understood; longer paths are cut.
inline constexpr std::size_t kMemoryMapLine = 4096 + 128;

/// Calls `visit(const MemoryRegion&)` for every region by ascending address until it returns
/// false. `buffer` (at least `kMemoryMapLine` bytes) is the only memory used. Returns false where
/// the description cannot be read.
template <class Visit>
bool visit_memory_map(std::span<char> buffer, Visit&& visit) noexcept;

/// The same for a process whose other threads stand still, with any lock that the system's own
/// libraries have: where those ask for the names of files, none is told, and a file's region has a
/// "?" for a path.
template <class Visit>
bool visit_nameless_memory_map(std::span<char> buffer, Visit&& visit) noexcept;

/// Whether a module may be mapped at `region`: it is a file's, or one that the kernel brings along.
bool may_hold_module(const MemoryRegion& region) noexcept;

/// Copies what lies at `address` to `buffer`, as far as it is there, and returns the number of
/// bytes. Unlike an access it survives what a region may turn out to be: unmapped by another thread
/// meanwhile, behind the end of its file, a device's.
std::size_t copy_memory(std::uintptr_t address, std::span<std::byte> buffer) noexcept;

// `kPrivateMemoryIsPlain`, a constant of every system, says whether private memory of no file that
// may be read survives being read in place, too, while it does not change: no device is behind it,
// and nothing but its protection forbids it.

// `kCopiesProtectedMemory`, another one, says whether `copy_memory` reads private memory that its
// protection forbids to read.

/// Calls `visit(start, end)` for the parts of `[start, end)`, private memory of no file, that may
/// hold anything but zeros: whole pages, but at both ends.
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
