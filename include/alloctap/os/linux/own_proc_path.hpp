/// Paths of this process's files in /proc.
#pragma once

namespace alloctap::os {

/// A path in /proc/self. After the main thread has exited, /proc/self no longer shows the address
/// space, so the path is in /proc/thread-self instead. May change errno.
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
