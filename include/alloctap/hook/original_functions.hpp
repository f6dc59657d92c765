/// The functions that calls were meant for, where something redirects them.
#pragma once

#include <atomic>
#include <cstdint>

namespace alloctap {

/// One address for each description of a function; `Owner` has addresses of its own. Found before
/// any call is redirected, and kept for ever: a call may be on its way through a handler when all
/// is restored. Thread-safe; may be read inside malloc.
template <class Owner>
class OriginalFunctions {
 public:
  /// nullptr before `set`.
  template <class Function>
  static typename Function::Signature* get() noexcept {
    return original_<Function>.load(std::memory_order_acquire);
  }

  template <class Function>
  static void set(std::uintptr_t original) noexcept {
    original_<Function>.store(reinterpret_cast<typename Function::Signature*>(original),
                              std::memory_order_release);
  }

 private:
  template <class Function>
  static inline constinit std::atomic<typename Function::Signature*> original_{nullptr};
};

}  // namespace alloctap
