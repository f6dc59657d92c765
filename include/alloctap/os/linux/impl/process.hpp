/// Definitions for os/linux/process.hpp.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "alloctap/os/file.hpp"
#include "alloctap/os/linux/process.hpp"
#include "alloctap/os/virtual_memory.hpp"

namespace alloctap::os {

ALLOCTAP_INLINE OwnProcPath::OwnProcPath(const char* name) noexcept {
  char first;
  const bool leader_has_left =
      ::readlink("/proc/self/exe", &first, sizeof first) < 0 && errno == ENOENT;
  std::snprintf(text_, sizeof text_, "/proc/%s/%s", leader_has_left ? "thread-self" : "self", name);
}

ALLOCTAP_INLINE std::string_view executable_path(std::span<char> buffer) noexcept {
  const ssize_t length = ::readlink(OwnProcPath("exe").text(), buffer.data(), buffer.size());
  std::string_view path(buffer.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  take_deletion_mark(path);
  return path;
}

ALLOCTAP_INLINE std::size_t read_file_start(const char* path, std::span<char> buffer) noexcept {
  int error = 0;
  const File file = open_for_reading(path, error);
  std::size_t filled = 0;
  while (file.is_open() && filled < buffer.size()) {
    const auto count = read_some(file.descriptor(), buffer.subspan(filled));
    if (count <= 0) break;
    filled += static_cast<std::size_t>(count);
  }
  return filled;
}

ALLOCTAP_INLINE std::uint64_t resident_bytes() noexcept {
  char text[128];
  const std::string_view fields(text, read_file_start(OwnProcPath("statm").text(), text));
  const std::size_t space = std::min(fields.find(' '), fields.size());
  std::uint64_t pages = 0;
  std::from_chars(fields.data() + std::min(space + 1, fields.size()), fields.data() + fields.size(),
                  pages);
  return pages * page_size();
}

ALLOCTAP_INLINE std::string_view command_line(std::span<char> buffer) noexcept {
  std::size_t length = read_file_start(OwnProcPath("cmdline").text(), buffer);
  if (length > 0 && buffer[length - 1] == '\0') --length;
  return {buffer.data(), length};
}

ALLOCTAP_INLINE std::string_view find_variable(std::string_view block,
                                               std::string_view name) noexcept {
  while (!block.empty()) {
    const std::string_view entry = block.substr(0, block.find('\0'));
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
    block.remove_prefix(std::min(block.size(), entry.size() + 1));
  }
  return {};
}

ALLOCTAP_INLINE std::string_view initial_environment(std::string_view name,
                                                     std::span<char> buffer) noexcept {
  // The kernel permits an environment of up to 6 MiB (execve(2)); untouched pages cost nothing. If
  // RLIMIT_AS or RLIMIT_DATA forbids that size, only the first part is read.
  constexpr std::size_t kLeastBytes = 64 * 1024;
  std::size_t bytes = 8 * 1024 * 1024;
  auto* block = static_cast<char*>(map_pages(bytes));
  while (block == nullptr && bytes > kLeastBytes) {
    bytes /= 2;
    block = static_cast<char*>(map_pages(bytes));
  }
  if (block == nullptr) return {};
  const std::size_t length = read_file_start(OwnProcPath("environ").text(), {block, bytes});
  std::string_view value = find_variable({block, length}, name);
  if (value.data() != nullptr && value.size() < buffer.size()) {
    std::memcpy(buffer.data(), value.data(), value.size());
    buffer[value.size()] = '\0';
    value = {buffer.data(), value.size()};
  } else {
    value = {};
  }
  unmap_pages(block, bytes);
  return value;
}

}  // namespace alloctap::os
