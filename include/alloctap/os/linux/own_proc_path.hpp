/// Where the kernel describes this process.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace alloctap::os {

/// The path of a file in /proc/self. Once the thread that the process is named by has left, that
/// says nothing of the address space: then the path is the calling thread's. May change errno.
class OwnProcPath {
 public:
  explicit OwnProcPath(const char* name) noexcept {
    char first;
    const bool leader_has_left =
        ::readlink("/proc/self/exe", &first, sizeof first) < 0 && errno == ENOENT;
    std::snprintf(text_, sizeof text_, "/proc/%s/%s", leader_has_left ? "thread-self" : "self",
                  name);
  }

  [[nodiscard]] const char* text() const noexcept { return text_; }

 private:
  char text_[48];
};

}  // namespace alloctap::os
