#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>

#include "alloctap/os/windows/api.hpp"

// Through which this program, and no library, calls VirtualAlloc.
extern "C" decltype(&::VirtualAlloc) __imp_VirtualAlloc;

namespace alloctap::testing {

/// While one is alive, this program can map no more than `slack` bytes by itself. Needs no memory.
/// Windows bounds what a process commits by jobs, which Wine does not: so the system's function is
/// replaced where the program calls it.
class BoundedMemory {
 public:
  explicit BoundedMemory(std::size_t slack) {
    slack_ = slack;
    replace_by(&refuse_beyond_slack);
  }
  ~BoundedMemory() { replace_by(real_); }
  BoundedMemory(const BoundedMemory&) = delete;
  BoundedMemory& operator=(const BoundedMemory&) = delete;

 private:
  using Function = decltype(&::VirtualAlloc);

  static void* WINAPI refuse_beyond_slack(void* address, std::size_t bytes, DWORD type,
                                          DWORD protection) noexcept {
    if (bytes > slack_) {
      ::SetLastError(ERROR_NOT_ENOUGH_MEMORY);
      return nullptr;
    }
    slack_ -= bytes;
    return real_(address, bytes, type, protection);
  }

  static void replace_by(Function function) {
    DWORD before = 0;
    if (::VirtualProtect(&__imp_VirtualAlloc, sizeof function, PAGE_READWRITE, &before) == 0) {
      std::abort();
    }
    __imp_VirtualAlloc = function;
    ::VirtualProtect(&__imp_VirtualAlloc, sizeof function, before, &before);
  }

  static inline const Function real_ = __imp_VirtualAlloc;
  static inline std::atomic<std::size_t> slack_{0};
};

}  // namespace alloctap::testing
