/// A callable whose outer frames can be removed from captured stacks.
#pragma once

#include <cstdint>

#include "alloctap/macros.hpp"

namespace alloctap::testing {

/// Calls a function and notes the address of the call. Frames from there outwards (counter, test,
/// runner) are in every stack of the function and carry no information. An address identifies them
/// without symbols, too. Refers to the function. Not thread-safe.
template <class Body>
class MeasuredCallable {
 public:
  explicit MeasuredCallable(Body& body) noexcept : body_(body) {}

  /// Passes exceptions on.
  ALLOCTAP_NOINLINE void operator()() {
    ++runs_;
    // Points into the call instruction, like `call_address`.
    caller_ = reinterpret_cast<std::uintptr_t>(ALLOCTAP_RETURN_ADDRESS()) - 1;
    body_();
    // A side effect after the call prevents a tail call, which would remove this frame.
    finished_ = runs_;
  }

  [[nodiscard]] std::uint32_t runs() const noexcept { return runs_; }

  /// Returns the call address as in `NamedFrame::address`; 0 before the first call.
  [[nodiscard]] std::uintptr_t caller() const noexcept { return caller_; }

 private:
  Body& body_;
  std::uintptr_t caller_ = 0;
  std::uint32_t runs_ = 0;
  volatile std::uint32_t finished_ = 0;
};

}  // namespace alloctap::testing
