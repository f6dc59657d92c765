#pragma once

#include <cerrno>

namespace alloctap::os {

/// Saves errno where it is made and restores it where it ends.
class ErrorPreserver {
 public:
  ErrorPreserver() noexcept = default;
  ~ErrorPreserver() { errno = saved_; }
  ErrorPreserver(const ErrorPreserver&) = delete;
  ErrorPreserver& operator=(const ErrorPreserver&) = delete;

 private:
  int saved_ = errno;
};

}  // namespace alloctap::os
