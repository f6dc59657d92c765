/// Static objects usable before constructors run: zeroed arrays, and lazily constructed objects.
#pragma once

#include <cstddef>
#include <new>

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

/// Holds a `T` that the first `get` constructs and that is never destroyed. Suits static objects
/// that are used before static constructors run: a constructor that runs after the first use would
/// erase the contents. Not thread-safe: callers of `get` hold the lock of the object's owner.
template <class T>
class NoDestroyLazy {
 public:
  constexpr NoDestroyLazy() noexcept = default;

  T& get() noexcept {
    if (!made_) {
      ::new (static_cast<void*>(storage_)) T();
      made_ = true;
    }
    return *std::launder(reinterpret_cast<T*>(storage_));
  }

 private:
  alignas(T) std::byte storage_[sizeof(T)]{};
  bool made_ = false;
};

}  // namespace alloctap
