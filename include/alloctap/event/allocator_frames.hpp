/// The return addresses of allocator frames that stacks skip.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace alloctap {

/// A set of return addresses inside an allocator. If an allocator calls a hook, frames of the
/// allocator lie between the program and the hook; their number differs by function. Captured
/// stacks start at the first frame that is not in the set.
///
/// `add` runs on the control plane, before any event refers to the set. `contains` may run inside
/// malloc.
class AllocatorFrames {
 public:
  static constexpr std::size_t kMaxCount = 128;

  /// Adds a return address. Returns false if the set is full; stacks then keep that frame.
  bool add(std::uintptr_t return_address) noexcept {
    const auto place = std::lower_bound(begin(), end(), return_address);
    if (place != end() && *place == return_address) return true;
    if (size_ == kMaxCount) return false;
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

  std::array<std::uintptr_t, kMaxCount> addresses_{};
  std::size_t size_ = 0;
};

}  // namespace alloctap
