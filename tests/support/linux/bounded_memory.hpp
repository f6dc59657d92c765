/// Keeps the system from mapping more than a little for anybody.
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "alloctap/os/virtual_memory.hpp"

namespace alloctap::testing {

/// While one is alive, no more than `slack` bytes can be mapped. Needs no memory.
///
/// qemu-user takes a bound of the address space and does not keep it. There, all mappings that the
/// kernel lets a process have are made, of a page each.
class BoundedMemory {
 public:
  explicit BoundedMemory(std::size_t slack) {
    getrlimit(RLIMIT_AS, &limit_before_);
    rlimit limit = limit_before_;
    limit.rlim_cur = mapped_now() + slack;
    rlimit kept{};
    const bool is_set = setrlimit(RLIMIT_AS, &limit) == 0 && getrlimit(RLIMIT_AS, &kept) == 0;
    if (!is_set) std::abort();
    if (kept.rlim_cur != limit.rlim_cur) use_up_mappings();
  }
  ~BoundedMemory() {
    setrlimit(RLIMIT_AS, &limit_before_);
    if (pages_ != MAP_FAILED) munmap(pages_, kPages * os::page_size());
  }
  BoundedMemory(const BoundedMemory&) = delete;
  BoundedMemory& operator=(const BoundedMemory&) = delete;

 private:
  /// More than there are mappings, unless vm.max_map_count was raised.
  static constexpr std::size_t kPages = 70'000;

  static std::size_t mapped_now() {
    std::size_t pages = 0;
    std::FILE* file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%zu", &pages) != 1) std::abort();
    std::fclose(file);
    return pages * os::page_size();
  }

  /// Neighbours that differ cannot be one mapping.
  void use_up_mappings() {
    const std::size_t bytes = os::page_size();
    pages_ = mmap(nullptr, kPages * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages_ == MAP_FAILED) std::abort();
    auto* const first = static_cast<char*>(pages_);
    for (std::size_t page = 0; page < kPages; page += 2) {
      if (mprotect(first + page * bytes, bytes, PROT_READ) != 0) return;
    }
    std::fputs("BoundedMemory: neither RLIMIT_AS nor vm.max_map_count bounds memory here\n",
               stderr);
    std::abort();
  }

  rlimit limit_before_{};
  void* pages_ = MAP_FAILED;
};

}  // namespace alloctap::testing
