/// Thread list from /proc/self/task, read without opendir, because that allocates.
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

/// Lists the threads of the process that created this object. A process that shares its descriptors
/// may use the object as well. If /proc belongs to another PID namespace, as after `unshare --pid`,
/// thread ids are translated. Allocates nothing; not thread-safe.
class TaskList {
 public:
  /// Returns the list of this process's threads; unreadable if /proc is not mounted.
  static TaskList of_this_process() noexcept;

  /// Calls `visit(ThreadId)` for each thread. May miss threads created meanwhile. Returns false if
  /// the threads cannot be listed.
  template <class Visit>
  bool visit(Visit&& visit) const noexcept {
    return visit_listed([&](ThreadId listed) {
      if (const ThreadId id = own_id(listed); id != 0) visit(id);
    });
  }

  /// Returns the thread's state letter (proc(5)): 'R', 'S', 'D', 'Z', ...; '\0' for a missing
  /// thread.
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

  /// Returns the thread's id in the thread's PID namespace, the last NSpid entry (proc(5)); 0 if
  /// the thread does not exist.
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
