/// Makes the system refuse to open files.
#pragma once

#include <sys/resource.h>

#include <cstdlib>

namespace alloctap::testing {

/// While one is alive, this process can open no file: those that are open stay open.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &limit_before_);
    rlimit none = limit_before_;
    none.rlim_cur = 0;
    if (setrlimit(RLIMIT_NOFILE, &none) != 0) std::abort();
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &limit_before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit limit_before_{};
};

}  // namespace alloctap::testing
