#pragma once

#include "alloctap/macros.hpp"

namespace alloctap::os {

/// A zero-initialized `T` for each thread, accessed without a call (initial-exec TLS) from a
/// thread's first instruction to its last. `T` needs no destructor, and zeros must be a valid
/// state. `Owner` gives each user a separate object of type `T`.
template <class T, class Owner = T>
class ThreadLocal {
 public:
  /// Returns the calling thread's object.
  ALLOCTAP_ALWAYS_INLINE static T& mine() noexcept { return value_; }

  /// Returns true if each thread has a separate object. If false, all share one; do not use it.
  static constexpr bool is_own() noexcept { return true; }

 private:
  ALLOCTAP_INITIAL_EXEC static inline constinit thread_local T value_{};
};

}  // namespace alloctap::os
