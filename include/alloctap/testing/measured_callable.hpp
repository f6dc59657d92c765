/// The function that is measured, and where its callers begin.
#pragma once

#include <cstdint>

#include "alloctap/macros.hpp"

namespace alloctap::testing {

/// Calls a function and notes from where: the frames from there on outwards, of the counter, of the
/// test and of what runs tests, are the same in every stack of the function and tell nothing of it.
/// An address finds that place in programs without names too. Refers to the function. For one
/// thread.
template <class Body>
class MeasuredCallable {
 public:
  explicit MeasuredCallable(Body& body) noexcept : body_(body) {}

  /// What the function throws passes through.
  ALLOCTAP_NOINLINE void operator()() {
    ++runs_;
    // One before the place that it returns to, as `call_address` has it.
    caller_ = reinterpret_cast<std::uintptr_t>(ALLOCTAP_RETURN_ADDRESS()) - 1;
    body_();
    // Something to do after the call: else the frame could be gone by then.
    finished_ = runs_;
  }

  [[nodiscard]] std::uint32_t runs() const noexcept { return runs_; }

  /// The address of the call, as `NamedFrame::address` has it; 0 before the first.
  [[nodiscard]] std::uintptr_t caller() const noexcept { return caller_; }

 private:
  Body& body_;
  std::uintptr_t caller_ = 0;
  std::uint32_t runs_ = 0;
  volatile std::uint32_t finished_ = 0;
};

}  // namespace alloctap::testing
