#pragma once

#include "alloctap/macros.hpp"

namespace alloctap::os {

/// A `T` for each thread, all zeros at first, that is reached without a call, from a thread's first
/// instruction to its last. `T` needs no destructor, and zeros must be a state of it. `Owner` tells
/// one from another of the same type.
template <class T, class Owner = T>
class ThreadLocal {
 public:
  /// The calling thread's.
  ALLOCTAP_ALWAYS_INLINE static T& mine() noexcept { return value_; }

  /// Whether every thread has one of its own. Else all share one, of which nothing may be made.
  static constexpr bool is_own() noexcept { return true; }

 private:
  ALLOCTAP_INITIAL_EXEC static inline constinit thread_local T value_{};
};

}  // namespace alloctap::os
