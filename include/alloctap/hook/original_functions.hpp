/// Addresses of the real functions behind hooked ones.
#pragma once

#include <atomic>
#include <cstdint>

namespace alloctap {

/// Original functions: one address per function description and `Owner`. An address is set before
/// any call is redirected. It is never cleared, because a thread may still be in a handler after
/// uninstall. Thread-safe; readable inside malloc.
template <class Owner>
class OriginalFunctions {
 public:
  /// Returns nullptr before `set`.
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
