#pragma once

#include <atomic>

#include "alloctap/os/windows/api.hpp"

namespace alloctap::testing {

/// Whether another thread brings `number` to `wanted` within ten seconds.
inline bool becomes(const std::atomic<int>& number, int wanted) {
  for (int i = 0; i < 1000 && number.load() != wanted; ++i) ::Sleep(10);
  return number.load() == wanted;
}

}  // namespace alloctap::testing
