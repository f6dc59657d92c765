/// Links and directories by readlink(2) and readdir(3).
#pragma once

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

namespace alloctap::os {

inline std::string_view read_link(const char* path, std::span<char> buffer) noexcept {
  const ssize_t length = ::readlink(path, buffer.data(), buffer.size());
  if (length < 0 || static_cast<std::size_t>(length) == buffer.size()) return {};
  return {buffer.data(), static_cast<std::size_t>(length)};
}

inline std::string_view find_name(const char* path, std::string_view prefix,
                                  std::span<char> buffer) noexcept {
  DIR* const folder = ::opendir(path);
  if (folder == nullptr) return {};
  std::string_view found;
  while (const dirent* const entry = ::readdir(folder)) {
    const std::string_view name(static_cast<const char*>(entry->d_name));
    if (!name.starts_with(prefix)) continue;
    if (name.size() <= buffer.size()) {
      std::copy(name.begin(), name.end(), buffer.begin());
      found = {buffer.data(), name.size()};
    }
    break;
  }
  ::closedir(folder);
  return found;
}

}  // namespace alloctap::os
