/// A large zero-initialized static array that compiles fast.
#pragma once

#include <cstddef>

namespace alloctap {

/// An array of `kCount` objects of type `T`. All-zero bytes must be a valid initial state of `T`,
/// as for atomic numbers and pointers. Constant-initialized; a static array lies in .bss.
///
/// Replaces `std::array` of atomics, for which compilers evaluate each element's constructor to
/// learn that it yields zeros. That costs a second per million bytes in every translation unit.
template <class T, std::size_t kCount>
class ZeroedArray {
 public:
  constexpr ZeroedArray() noexcept = default;
  ZeroedArray(const ZeroedArray&) = delete;
  ZeroedArray& operator=(const ZeroedArray&) = delete;

  static constexpr std::size_t size() noexcept { return kCount; }

  T& operator[](std::size_t i) noexcept { return reinterpret_cast<T*>(bytes_)[i]; }
  const T& operator[](std::size_t i) const noexcept {
    return reinterpret_cast<const T*>(bytes_)[i];
  }

 private:
  alignas(T) std::byte bytes_[kCount * sizeof(T)]{};
};

}  // namespace alloctap
