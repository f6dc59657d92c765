/// Memory map by VirtualQuery, with file names by K32GetMappedFileName. Neither takes the loader
/// lock; in Wine, K32GetMappedFileName allocates.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/mapped_file.hpp"

namespace alloctap::os {

inline MemoryRegion describe_region(const MEMORY_BASIC_INFORMATION& system) noexcept {
  constexpr DWORD kWritable =
      PAGE_READWRITE | PAGE_WRITECOPY | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
  constexpr DWORD kExecutable =
      PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
  constexpr DWORD kUnreadable = PAGE_NOACCESS | PAGE_GUARD | PAGE_EXECUTE;
  MemoryRegion region;
  region.start = reinterpret_cast<std::uintptr_t>(system.BaseAddress);
  region.end = region.start + system.RegionSize;
  region.file_offset = region.start - reinterpret_cast<std::uintptr_t>(system.AllocationBase);
  region.reserved = system.State != MEM_COMMIT;
  if (region.reserved) return region;
  region.readable = (system.Protect & kUnreadable) == 0;
  region.writable = (system.Protect & kWritable) != 0 && (system.Protect & PAGE_GUARD) == 0;
  region.executable = (system.Protect & kExecutable) != 0;
  return region;
}

/// Visits all regions. Calls `name(allocation)` for the path of each mapped file. Reserved address
/// space is a region that is neither readable nor writable.
template <class Name, class Visit>
bool visit_regions(Name&& name, Visit&& visit) noexcept {
  const void* allocation = nullptr;
  std::string_view path;
  MEMORY_BASIC_INFORMATION system;
  for (const char* place = nullptr; ::VirtualQuery(place, &system, sizeof system) != 0;
       place = static_cast<const char*>(system.BaseAddress) + system.RegionSize) {
    if (system.State == MEM_FREE) continue;
    const bool of_file = system.Type == MEM_IMAGE || system.Type == MEM_MAPPED;
    if (system.AllocationBase != allocation) {
      allocation = system.AllocationBase;
      path = of_file ? name(allocation) : std::string_view();
    }
    MemoryRegion region = describe_region(system);
    region.path = path;
    if (!visit(region)) return true;
  }
  return true;
}

template <class Visit>
bool visit_memory_map(std::span<char> buffer, Visit&& visit) noexcept {
  return visit_regions([buffer](const void* place) { return mapped_file(place, buffer); }, visit);
}

template <class Visit>
bool visit_nameless_memory_map(std::span<char>, Visit&& visit) noexcept {
  return visit_regions([](const void*) { return std::string_view("?"); }, visit);
}

inline constexpr bool kPrivateMemoryIsPlain = true;
inline constexpr bool kCopiesProtectedMemory = false;

inline bool may_hold_module(const MemoryRegion& region) noexcept { return !region.path.empty(); }

/// Returns the length of the readable prefix of `[address, address + bytes)`.
inline std::size_t readable_bytes(std::uintptr_t address, std::size_t bytes) noexcept {
  std::size_t readable = 0;
  MEMORY_BASIC_INFORMATION system;
  while (readable < bytes) {
    const auto* const place = reinterpret_cast<const void*>(address + readable);
    if (::VirtualQuery(place, &system, sizeof system) == 0) break;
    const MemoryRegion region = describe_region(system);
    if (!region.readable) break;
    readable = region.end - address;
  }
  return std::min(readable, bytes);
}

inline std::size_t copy_memory(std::uintptr_t address, std::span<std::byte> buffer) noexcept {
  const std::size_t readable = readable_bytes(address, buffer.size());
  SIZE_T copied = 0;
  const auto* const place = reinterpret_cast<const void*>(address);
  const bool whole = readable > 0 && ::ReadProcessMemory(::GetCurrentProcess(), place,
                                                         buffer.data(), readable, &copied) != 0;
  return whole ? copied : 0;
}

template <class Visit>
void visit_present_pages(std::uintptr_t start, std::uintptr_t end, Visit&& visit) noexcept {
  if (start < end) visit(start, end);
}

}  // namespace alloctap::os
