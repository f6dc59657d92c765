/// The frames that an allocator puts between the program and a hook of its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace alloctap {

/// A set of return addresses inside an allocator. A hook that the allocator calls stands some
/// frames inside of it, in number and place different for each of its functions; a stack begins at
/// the first frame that is not one of these.
///
/// `add` runs in the control plane, before any event refers to the set; `contains` may run inside
/// malloc.
class AllocatorFrames {
 public:
  static constexpr std::size_t kMost = 128;

  /// False where there is no more room: that frame will stay in stacks.
  bool add(std::uintptr_t return_address) noexcept {
    const auto place = std::lower_bound(begin(), end(), return_address);
    if (place != end() && *place == return_address) return true;
    if (size_ == kMost) return false;
    std::copy_backward(place, end(), end() + 1);
    *place = return_address;
    ++size_;
    return true;
  }

  [[nodiscard]] bool contains(std::uintptr_t return_address) const noexcept {
    return std::binary_search(addresses_.data(), addresses_.data() + size_, return_address);
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::uintptr_t* begin() noexcept { return addresses_.data(); }
  std::uintptr_t* end() noexcept { return addresses_.data() + size_; }

  std::array<std::uintptr_t, kMost> addresses_{};
  std::size_t size_ = 0;
};

}  // namespace alloctap
