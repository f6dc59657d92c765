/// A static object whose type has no constant initialization.
#pragma once

#include <cstddef>
#include <new>

namespace alloctap {

/// Holds a `T` that is made on the first `get` and never destroyed. For static objects that must
/// work before constructors run: a constructor that ran later would wipe what they hold. Not
/// thread-safe: the owner's lock covers `get`.
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
