/// A callable whose outer frames can be removed from captured stacks.
#pragma once

#include <cstdint>

#include "alloctap/macros.hpp"

namespace alloctap::testing {

/// Wraps a function, and stores the address at which the wrapper was called. Even without symbols,
/// this address identifies the outer frames (counter, test, runner), which are equal in all stacks
/// of the function. Refers to the function. Not thread-safe.
template <class Body>
class MeasuredCallable {
 public:
  explicit MeasuredCallable(Body& body) noexcept : body_(body) {}

  /// Calls the function and passes its exceptions on.
  ALLOCTAP_NOINLINE void operator()() {
    ++runs_;
    // Subtracts 1 to point into the call instruction, as `call_address` does.
    caller_ = reinterpret_cast<std::uintptr_t>(ALLOCTAP_RETURN_ADDRESS()) - 1;
    body_();
    // A side effect after the call prevents a tail call, which would remove this frame.
    finished_ = runs_;
  }

  [[nodiscard]] std::uint32_t runs() const noexcept { return runs_; }

  /// Returns the address at which this object was last called, comparable to `NamedFrame::address`.
  /// Returns 0 before the first call.
  [[nodiscard]] std::uintptr_t caller() const noexcept { return caller_; }

 private:
  Body& body_;
  std::uintptr_t caller_ = 0;
  std::uint32_t runs_ = 0;
  volatile std::uint32_t finished_ = 0;
};

}  // namespace alloctap::testing
