/// Which of a process' heaps a block is of, where the system lets programs make more than one.
///
/// `HeapHandle` is empty where it does not; otherwise `value` is what the system knows the heap by,
/// nullptr where that was not told.
#pragma once

#include <cstdint>

namespace alloctap::os {

#if defined(_WIN32)
struct HeapHandle {
  void* value = nullptr;
  bool operator==(const HeapHandle&) const = default;
};

/// What reports show; 0 where it was not told.
[[nodiscard]] inline std::uintptr_t number_of(HeapHandle heap) noexcept {
  return reinterpret_cast<std::uintptr_t>(heap.value);
}
/// The heap of that number.
[[nodiscard]] inline HeapHandle heap_of(std::uintptr_t number) noexcept {
  return {reinterpret_cast<void*>(number)};
}
#else
struct HeapHandle {
  bool operator==(const HeapHandle&) const = default;
};

[[nodiscard]] constexpr std::uintptr_t number_of(HeapHandle) noexcept { return 0; }
[[nodiscard]] constexpr HeapHandle heap_of(std::uintptr_t) noexcept { return {}; }
#endif

/// Whether both were told and are two.
[[nodiscard]] inline bool are_different(HeapHandle a, HeapHandle b) noexcept {
  return number_of(a) != 0 && number_of(b) != 0 && a != b;
}

}  // namespace alloctap::os
