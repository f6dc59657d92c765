// /proc/self/task, read without opendir, which allocates.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
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
  static TaskList of_this_process() noexcept;

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
  [[nodiscard]] char state(ThreadId id) const noexcept;

 private:
  static ThreadId parse(std::string_view text) noexcept;

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
  [[nodiscard]] ThreadId own_id(ThreadId listed) const noexcept;

  [[nodiscard]] std::string_view read(ThreadId listed, std::string_view file,
                                      std::span<char> buffer) const noexcept;

  File directory_;
  bool is_foreign_ = false;
};

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/task_list.hpp"
#endif
