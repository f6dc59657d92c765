/// Paths of this process's files in /proc.
#pragma once

namespace alloctap::os {

/// Path of a file in /proc/self. After the main thread has exited, that directory lacks the address
/// space; then the path is in /proc/thread-self. May change errno.
class OwnProcPath {
 public:
  explicit OwnProcPath(const char* name) noexcept;

  [[nodiscard]] const char* text() const noexcept { return text_; }

 private:
  char text_[48];
};

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/own_proc_path.hpp"
#endif
