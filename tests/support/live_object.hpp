/// Objects that tests make and that stay until the program ends.
#pragma once

#include <memory>
#include <vector>

#include "alloctap/testing/case_leaks.hpp"

namespace alloctap::testing {

/// A new `T`. What it has set aside is never given back.
template <class T>
T& make_kept() {
  const expected_to_stay kept_on_purpose;
  static std::vector<std::unique_ptr<T>> kept;
  return *kept.emplace_back(std::make_unique<T>());
}

}  // namespace alloctap::testing
