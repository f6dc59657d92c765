/// A wrapper for objects that a tracker must not record.
#pragma once

#include <optional>
#include <utility>

#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap::testing {

/// Holds a `Value` made under a `ReentrancyGuard`, and destroys it under one. Its allocations were
/// not recorded, so their frees must not look like frees of unknown blocks. Move-only. As
/// thread-safe as `Value`.
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
