#pragma once

#include <cstddef>

#include "alloctap/os/reserved_pages.hpp"
#include "alloctap/os/windows/api.hpp"

namespace alloctap::os {

class ReservedPages {
 public:
  constexpr ReservedPages() noexcept = default;

  bool reserve(std::size_t bytes) noexcept {
    begin_ = static_cast<std::byte*>(::VirtualAlloc(nullptr, bytes, MEM_RESERVE, PAGE_NOACCESS));
    bytes_ = begin_ == nullptr ? 0 : bytes;
    return begin_ != nullptr;
  }

  void unreserve() noexcept {
    ::VirtualFree(begin_, 0, MEM_RELEASE);
    begin_ = nullptr;
    bytes_ = 0;
  }

  [[nodiscard]] std::byte* begin() const noexcept { return begin_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  void prepare(void*, std::size_t) noexcept {}

  bool open(void* address, std::size_t bytes) noexcept {
    return ::VirtualAlloc(address, bytes, MEM_COMMIT, PAGE_READWRITE) != nullptr;
  }

  bool close(void* address, std::size_t bytes) noexcept {
    return ::VirtualFree(address, bytes, MEM_DECOMMIT) != 0;
  }

  [[nodiscard]] bool splits_ranges() const noexcept { return true; }

 private:
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

inline AddressLimits address_limits() noexcept { return {}; }

}  // namespace alloctap::os
