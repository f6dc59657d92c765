#pragma once

#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

/// Windows finds the calling thread's error by itself.
struct ErrorPlace {
  [[nodiscard]] static constexpr ErrorPlace mine() noexcept { return {}; }
};

/// Saves what GetLastError says where it is made and restores it where it ends. errno is the C
/// library's, which the functions of this folder do not call; asking for it may allocate.
class ErrorPreserver {
 public:
  ErrorPreserver() noexcept = default;
  explicit ErrorPreserver(ErrorPlace /*mine*/) noexcept {}
  ~ErrorPreserver() { ::SetLastError(saved_); }
  ErrorPreserver(const ErrorPreserver&) = delete;
  ErrorPreserver& operator=(const ErrorPreserver&) = delete;

 private:
  DWORD saved_ = ::GetLastError();
};

}  // namespace alloctap::os
