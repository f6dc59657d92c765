/// Paths of mapped files, converted to drive letters. The system's paths begin with a device
/// (\Device\HarddiskVolume3\game\game.exe) or, in Wine, with \??\ (\??\C:\game\game.exe).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/utf8.hpp"
#include "alloctap/os/windows/wide_path.hpp"
// After the headers that psapi.h depends on.
#include <psapi.h>

namespace alloctap::os {

/// A path and its drive letter; '\0' if it has no drive.
struct DrivePath {
  wchar_t drive = L'\0';
  std::wstring_view path;
};

/// Returns true if `path` is on `device`.
inline bool lies_on_device(std::wstring_view path, std::wstring_view device) noexcept {
  return !device.empty() && path.size() > device.size() && path.starts_with(device) &&
         path[device.size()] == L'\\';
}

/// Finds the drive whose device name is a prefix of `path`.
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

}  // namespace alloctap::os
