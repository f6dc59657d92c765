/// Definitions for os/linux/task_list.hpp.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <span>
#include <string_view>

#include "alloctap/macros.hpp"
#include "alloctap/os/file.hpp"
#include "alloctap/os/linux/task_list.hpp"
#include "alloctap/os/thread.hpp"

namespace alloctap::os {

ALLOCTAP_INLINE TaskList TaskList::of_this_process() noexcept {
  TaskList list;
  int error = 0;
  list.directory_ = open_file("/proc/self/task", O_RDONLY | O_DIRECTORY, error);
  char name[16] = {};
  const long length = ::syscall(SYS_readlinkat, AT_FDCWD, "/proc/self", name, sizeof name);
  list.is_foreign_ = length > 0 && parse(name) != current_process_id();
  return list;
}

ALLOCTAP_INLINE char TaskList::state(ThreadId id) const noexcept {
  ThreadId listed = is_foreign_ ? 0 : id;
  if (is_foreign_) {
    visit_listed([&](ThreadId other) { listed = own_id(other) == id ? other : listed; });
  }
  char text[512];
  const auto count = static_cast<std::ptrdiff_t>(read(listed, "/stat", text).size());
  // Searches from the end, because the thread name before the state may contain any characters.
  for (std::ptrdiff_t at = count - 3; at > 0; --at) {
    if (text[at] == ')') return text[at + 2];
  }
  return '\0';
}

ALLOCTAP_INLINE ThreadId TaskList::parse(std::string_view text) noexcept {
  ThreadId id = 0;
  std::from_chars(text.data(), text.data() + text.size(), id);
  return id;
}

ALLOCTAP_INLINE ThreadId TaskList::own_id(ThreadId listed) const noexcept {
  if (!is_foreign_) return listed;
  char buffer[4096];
  std::string_view text = read(listed, "/status", buffer);
  const std::size_t begin = text.find("\nNSpid:");
  if (begin == text.npos) return 0;
  text = text.substr(begin + 1);
  text = text.substr(0, text.find('\n'));
  return parse(text.substr(text.find_last_of(" \t") + 1));
}

ALLOCTAP_INLINE std::string_view TaskList::read(ThreadId listed, std::string_view file,
                                                std::span<char> buffer) const noexcept {
  char path[32] = {};
  char* const end = std::to_chars(path, path + 16, listed).ptr;
  std::copy(file.begin(), file.end(), end);
  const long descriptor =
      ::syscall(SYS_openat, directory_.descriptor(), path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  const File opened(static_cast<int>(descriptor));
  const std::ptrdiff_t count = read_some(opened.descriptor(), buffer);
  return {buffer.data(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(count, 0))};
}

}  // namespace alloctap::os
