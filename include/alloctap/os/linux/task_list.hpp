// /proc/PID/task, read without opendir, which allocates.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "alloctap/os/file.hpp"
#include "alloctap/os/thread.hpp"

namespace alloctap::os {

/// "/proc/PID/task" and what is to follow, ended by '\0'.
struct TaskPath {
  TaskPath(ProcessId process, ThreadId task, const char* rest) noexcept {
    add("/proc/");
    add(process);
    add("/task");
    if (task != 0) {
      add("/");
      add(task);
    }
    add(rest);
  }

  char text[96] = {};

 private:
  void add(const char* more) noexcept {
    const std::size_t length = std::strlen(more);
    std::memcpy(text + length_, more, length);
    length_ += length;
  }
  void add(std::int32_t number) noexcept {
    const auto result = std::to_chars(text + length_, text + sizeof text, number);
    length_ = static_cast<std::size_t>(result.ptr - text);
  }

  std::size_t length_ = 0;
};

/// Calls `visit(ThreadId)` for each thread of `process`. False where they cannot be listed. Threads
/// that come meanwhile may be missing.
template <class Visit>
bool visit_tasks(ProcessId process, Visit&& visit) noexcept {
  struct Entry {
    std::uint64_t inode;
    std::int64_t offset;
    std::uint16_t length;
    unsigned char type;
    char name[1];
  };
  int error = 0;
  const File directory = open_file(TaskPath(process, 0, "").text, O_RDONLY | O_DIRECTORY, error);
  if (!directory.is_open()) return false;
  alignas(Entry) char buffer[4096];
  for (;;) {
    const long count = ::syscall(SYS_getdents64, directory.descriptor(), buffer, sizeof buffer);
    if (count <= 0) return count == 0;
    for (long at = 0; at < count;) {
      const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
      const char* const name = buffer + at + offsetof(Entry, name);
      ThreadId task = 0;
      std::from_chars(name, name + std::strlen(name), task);
      if (task != 0) visit(task);
      at += entry->length;
    }
  }
}

/// The letter that the system describes what a thread does by: 'R', 'S', 'D', 'Z', ...; '\0' where
/// there is no such thread.
inline char task_state(ProcessId process, ThreadId task) noexcept {
  int error = 0;
  const File file = open_for_reading(TaskPath(process, task, "/stat").text, error);
  char text[512];
  const std::ptrdiff_t count = error == 0 ? read_some(file.descriptor(), text) : 0;
  // The name before it may contain anything.
  for (std::ptrdiff_t at = count - 3; at > 0; --at) {
    if (text[at] == ')') return text[at + 2];
  }
  return '\0';
}

}  // namespace alloctap::os
