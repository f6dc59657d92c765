/// A half-open range of addresses.
#pragma once

#include <cstddef>
#include <cstdint>

namespace alloctap {

/// The addresses `[start, end)`.
struct AddressRange {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;

  [[nodiscard]] bool empty() const noexcept { return start >= end; }
  [[nodiscard]] std::size_t length() const noexcept { return end - start; }
  [[nodiscard]] bool contains(const AddressRange& other) const noexcept {
    return start <= other.start && other.end <= end;
  }
};

}  // namespace alloctap
