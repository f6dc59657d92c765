/// Data of this process and its paths in /proc, fork handlers by pthread_atfork(3).
#pragma once

#include <pthread.h>
#include <stdlib.h>

#include <cstddef>
#include <span>
#include <string_view>

#include "alloctap/macros.hpp"
#include "alloctap/os/process.hpp"

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

/// Removes from `path` the suffix that d_path (the kernel's fs/d_path.c) appends if the file was
/// removed or replaced. Returns true if the suffix was present, even as part of the real name.
inline bool take_deletion_mark(std::string_view& path) noexcept {
  constexpr std::string_view kMark = " (deleted)";
  const bool is_gone = path.ends_with(kMark);
  if (is_gone) path.remove_suffix(kMark.size());
  return is_gone;
}

/// Reads the start of the file `path` into `buffer`. Returns the number of bytes read.
std::size_t read_file_start(const char* path, std::span<char> buffer) noexcept;

/// Returns the value of `name` in `block`, "NAME=VALUE" strings that each end in '\0'.
std::string_view find_variable(std::string_view block, std::string_view name) noexcept;

inline bool set_environment(const char* name, const char* value) noexcept {
  return (value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1)) == 0;
}

inline bool register_fork_handlers(void (*prepare)(), void (*parent)(), void (*child)()) noexcept {
  return ::pthread_atfork(prepare, parent, child) == 0;
}

}  // namespace alloctap::os

extern "C" {
// As in sanitizer/lsan_interface.h, but weak, because a program need not define the function.
ALLOCTAP_WEAK ALLOCTAP_EXPORT const char* __lsan_default_suppressions();
}

namespace alloctap::os {

inline const char* default_suppressions() noexcept {
  const auto function = &::__lsan_default_suppressions;
  return function == nullptr ? nullptr : function();
}

}  // namespace alloctap::os

#ifndef ALLOCTAP_COMPILED
#include "alloctap/os/linux/impl/process.hpp"
#endif
