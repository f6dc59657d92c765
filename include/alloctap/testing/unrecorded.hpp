/// A wrapper for objects whose allocations a tracker must not record.
#pragma once

#include <optional>
#include <utility>

#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap::testing {

/// Constructs and destroys a `Value` under a `ReentrancyGuard`, so its allocations are not
/// recorded. An unguarded destructor would count as frees of unknown blocks. Move-only. As
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
