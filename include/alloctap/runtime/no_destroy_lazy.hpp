/// A lazily constructed static object that is never destroyed.
#pragma once

#include <cstddef>
#include <new>

namespace alloctap {

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
