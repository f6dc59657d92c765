/// Data of this process, mostly from the process parameters in the PEB, which need no lock to read.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "alloctap/os/process.hpp"
#include "alloctap/os/virtual_memory.hpp"
#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/argument_list.hpp"
#include "alloctap/os/windows/thread_block.hpp"
#include "alloctap/os/windows/utf8.hpp"
#include "alloctap/os/windows/wide_path.hpp"
// After the headers that psapi.h depends on.
#include <psapi.h>

namespace alloctap::os {

inline const RTL_USER_PROCESS_PARAMETERS& process_parameters() noexcept {
  return *thread_block()->ProcessEnvironmentBlock->ProcessParameters;
}

inline std::wstring_view view_of(const UNICODE_STRING& text) noexcept {
  return {text.Buffer, text.Length / sizeof(wchar_t)};
}

inline std::string_view executable_path(std::span<char> buffer) noexcept {
  const std::string_view path = to_utf8(view_of(process_parameters().ImagePathName), buffer);
  use_slashes(buffer.first(path.size()));
  return path;
}

inline std::string_view command_line(std::span<char> buffer) noexcept {
  return split_arguments(view_of(process_parameters().CommandLine), buffer);
}

/// Reads the current environment, because Windows keeps no copy of the environment at start.
inline std::string_view initial_environment(std::string_view name,
                                            std::span<char> buffer) noexcept {
  // Maximum length of a name or a value, in UTF-16 units.
  constexpr std::size_t kUnits = 32 * 1024;
  constexpr std::size_t kBytes = 2 * kUnits * sizeof(wchar_t);
  auto* const pages = static_cast<wchar_t*>(map_pages(kBytes));
  if (pages == nullptr) return {};
  const std::span<wchar_t> value(pages + kUnits, kUnits);
  std::string_view found;
  // The pages are zeroed, so the name ends in a zero.
  if (!to_utf16(name, {pages, kUnits - 1}).empty()) {
    ::SetLastError(ERROR_SUCCESS);
    const DWORD length = ::GetEnvironmentVariableW(pages, value.data(), kUnits);
    const bool is_set = length < kUnits && (length > 0 || ::GetLastError() == ERROR_SUCCESS);
    if (is_set && !buffer.empty()) {
      const std::size_t room = buffer.size() - 1;
      const std::wstring_view text(value.data(), length);
      const std::string_view copied = to_utf8(text, buffer.first(room));
      const bool whole =
          ::WideCharToMultiByte(CP_UTF8, 0, text.data(), static_cast<int>(length), nullptr, 0,
                                nullptr, nullptr) == static_cast<int>(copied.size());
      buffer[copied.size()] = '\0';
      if (whole) found = {buffer.data(), copied.size()};
    }
  }
  unmap_pages(pages, kBytes);
  return found;
}

inline std::uint64_t resident_bytes() noexcept {
  PROCESS_MEMORY_COUNTERS counters{};
  const bool known =
      ::K32GetProcessMemoryInfo(::GetCurrentProcess(), &counters, sizeof counters) != 0;
  return known ? counters.WorkingSetSize : 0;
}

}  // namespace alloctap::os
