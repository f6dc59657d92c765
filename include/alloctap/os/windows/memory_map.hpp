/// Memory map by VirtualQuery, without the loader lock; paths of mapped files, and stack bounds.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include "alloctap/os/memory_map.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/wide_path.hpp"

// After the headers that psapi.h depends on.
#include <psapi.h>

namespace alloctap::os {

/// A drive letter and the path after it. If `drive` is '\0', `path` is the whole path.
struct DrivePath {
  wchar_t drive = L'\0';
  std::wstring_view path;
};

inline bool lies_on_device(std::wstring_view path, std::wstring_view device) noexcept {
  return !device.empty() && path.size() > device.size() && path.starts_with(device) &&
         path[device.size()] == L'\\';
}

/// Finds the drive whose device name is a prefix of `path`. The system's paths begin with a device
/// (\Device\HarddiskVolume3\game\game.exe) or, in Wine, with \??\ (\??\C:\game\game.exe).
inline DrivePath find_drive(std::wstring_view path) noexcept {
  constexpr std::wstring_view kNamed = L"\\??\\";
  if (path.starts_with(kNamed)) return {.path = path.substr(kNamed.size())};
  const DWORD drives = ::GetLogicalDrives();
  for (int number = 0; number < 26; ++number) {
    if ((drives >> number & 1U) == 0) continue;
    const auto letter = static_cast<wchar_t>(L'A' + number);
    const wchar_t name[] = {letter, L':', L'\0'};
    std::array<wchar_t, 260> device{};
    if (::QueryDosDeviceW(name, device.data(), device.size()) == 0) continue;
    const std::wstring_view text(device.data());
    if (lies_on_device(path, text)) return {.drive = letter, .path = path.substr(text.size())};
  }
  return {.path = path};
}

/// Stores in `buffer` and returns the path of the file mapped at `address`; "" for other memory.
/// Takes no loader lock, but allocates in Wine.
inline std::string_view mapped_file(const void* address, std::span<char> buffer) noexcept {
  // Longer paths are not reported.
  std::array<wchar_t, 1024> system;
  const DWORD units = ::K32GetMappedFileNameW(::GetCurrentProcess(), const_cast<void*>(address),
                                              system.data(), static_cast<DWORD>(system.size()));
  if (units == 0) return {};
  const DrivePath found = find_drive({system.data(), units});
  std::size_t length = 0;
  if (found.drive != L'\0') {
    buffer[length++] = static_cast<char>(found.drive);
    buffer[length++] = ':';
  }
  length += to_utf8(found.path, buffer.subspan(length)).size();
  use_slashes(buffer.first(length));
  return {buffer.data(), length};
}

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

/// Finds the committed part of the stack. A stack is one allocation that consists, by ascending
/// address, of a reserved part, a guard page, and the committed part.
inline StackBounds find_stack_bounds(std::uintptr_t address) noexcept {
  MEMORY_BASIC_INFORMATION region;
  const auto* const place = reinterpret_cast<const void*>(address);
  if (::VirtualQuery(place, &region, sizeof region) == 0) return {};
  constexpr DWORD kUnreadable = PAGE_NOACCESS | PAGE_GUARD | PAGE_EXECUTE;
  if (region.State != MEM_COMMIT || (region.Protect & kUnreadable) != 0) return {};
  const auto low = reinterpret_cast<std::uintptr_t>(region.BaseAddress);
  return {.low = low, .high = low + region.RegionSize};
}

inline std::uintptr_t initial_stack_pointer() noexcept { return UINTPTR_MAX; }

inline bool is_initial_frame(std::uintptr_t) noexcept { return false; }

}  // namespace alloctap::os
