// /proc/self/task, read without opendir, which allocates.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "alloctap/os/file.hpp"
#include "alloctap/os/thread.hpp"

namespace alloctap::os {

/// The threads of the process that made it, which another process may read too that has the same
/// descriptors. /proc may be another PID namespace's, as after `unshare --pid`: it lists threads by
/// the ids that they have there, which are translated. Allocates nothing; not thread-safe.
class TaskList {
 public:
  /// Where there is no /proc, the list cannot be read.
  static TaskList of_this_process() noexcept {
    TaskList list;
    int error = 0;
    list.directory_ = open_file("/proc/self/task", O_RDONLY | O_DIRECTORY, error);
    char name[16] = {};
    const long length = ::syscall(SYS_readlinkat, AT_FDCWD, "/proc/self", name, sizeof name);
    list.is_foreign_ = length > 0 && parse(name) != current_process_id();
    return list;
  }

  /// Calls `visit(ThreadId)` for each thread. False where they cannot be listed. Threads that come
  /// meanwhile may be missing.
  template <class Visit>
  bool visit(Visit&& visit) const noexcept {
    return visit_listed([&](ThreadId listed) {
      if (const ThreadId id = own_id(listed); id != 0) visit(id);
    });
  }

  /// The letter that the system describes what a thread does by: 'R', 'S', 'D', 'Z', ...; '\0'
  /// where there is no such thread.
  [[nodiscard]] char state(ThreadId id) const noexcept {
    ThreadId listed = is_foreign_ ? 0 : id;
    if (is_foreign_) {
      visit_listed([&](ThreadId other) { listed = own_id(other) == id ? other : listed; });
    }
    char text[512];
    const auto count = static_cast<std::ptrdiff_t>(read(listed, "/stat", text).size());
    // The name before it may contain anything.
    for (std::ptrdiff_t at = count - 3; at > 0; --at) {
      if (text[at] == ')') return text[at + 2];
    }
    return '\0';
  }

 private:
  static ThreadId parse(std::string_view text) noexcept {
    ThreadId id = 0;
    std::from_chars(text.data(), text.data() + text.size(), id);
    return id;
  }

  template <class Visit>
  bool visit_listed(Visit&& visit) const noexcept {
    struct Entry {
      std::uint64_t inode;
      std::int64_t offset;
      std::uint16_t length;
      unsigned char type;
      char name[1];
    };
    alignas(Entry) char buffer[4096];
    ::syscall(SYS_lseek, directory_.descriptor(), 0L, SEEK_SET);
    for (;;) {
      const long count = ::syscall(SYS_getdents64, directory_.descriptor(), buffer, sizeof buffer);
      if (count <= 0) return count == 0;
      for (long at = 0; at < count;) {
        const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
        const ThreadId id = parse(buffer + at + offsetof(Entry, name));
        if (id != 0) visit(id);
        at += entry->length;
      }
    }
  }

  /// The id that the thread has in its own namespace, the last of those in NSpid (proc(5)); 0 where
  /// there is no such thread any more.
  [[nodiscard]] ThreadId own_id(ThreadId listed) const noexcept {
    if (!is_foreign_) return listed;
    char buffer[4096];
    std::string_view text = read(listed, "/status", buffer);
    const std::size_t begin = text.find("\nNSpid:");
    if (begin == text.npos) return 0;
    text = text.substr(begin + 1);
    text = text.substr(0, text.find('\n'));
    return parse(text.substr(text.find_last_of(" \t") + 1));
  }

  [[nodiscard]] std::string_view read(ThreadId listed, std::string_view file,
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

  File directory_;
  bool is_foreign_ = false;
};

}  // namespace alloctap::os
