/// Where the kernel describes this process.
#pragma once

namespace alloctap::os {

/// The path of a file in /proc/self. Once the thread that the process is named by has left, that
/// says nothing of the address space: then the path is the calling thread's. May change errno.
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
