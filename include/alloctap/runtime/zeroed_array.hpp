/// A large static array that costs the compiler nothing.
#pragma once

#include <cstddef>

namespace alloctap {

/// `kCount` objects of type `T`, whose initial state must be all zeros, as that of atomics of
/// numbers and pointers is. Constant-initialized, and takes no memory before it is touched where
/// its object is static.
///
/// An array of atomics would do, but compilers run the constructor of each element to see that it
/// yields zeros: that is a second for a million bytes, in every translation unit.
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
