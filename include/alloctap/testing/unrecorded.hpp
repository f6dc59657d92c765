/// Objects of the tests' own machinery, of which a tracker shall not know.
#pragma once

#include <optional>
#include <utility>

#include "alloctap/runtime/reentrancy_guard.hpp"

namespace alloctap::testing {

/// Holds a `Value` that was made while this thread had a `ReentrancyGuard`, and frees it behind
/// one: what it holds was never recorded, and no free of it shall look like that of an unknown
/// block. Move-only. As thread-safe as `Value`.
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
