/// A wrapper for objects whose allocations a tracker must not record.
#pragma once

#include <optional>
#include <utility>

#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap::testing {

/// Holds a `Value` that was constructed under a `ReentrancyGuard`, and destroys it under such a
/// guard. Without that guard, its frees would be counted as frees of unknown blocks, because its
/// allocations were not recorded. Move-only. As thread-safe as `Value`.
template <class Value>
class Unrecorded {
 public:
  explicit Unrecorded(Value&& value) noexcept : value_(std::move(value)) {}
  Unrecorded(Unrecorded&&) noexcept = default;
  ~Unrecorded() {
    const ReentrancyGuard guard;
    value_.reset();
  }

  const Value& operator*() const noexcept { return *value_; }
  const Value* operator->() const noexcept { return &*value_; }

 private:
  std::optional<Value> value_;
};

}  // namespace alloctap::testing
