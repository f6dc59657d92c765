/// Identifies the heap that a block belongs to, on systems with several heaps in one process.
///
/// `value` is the system's heap handle; nullptr if unknown. On other systems `HeapHandle` is empty.
#pragma once

#include <cstdint>

namespace alloctap::os {

#if defined(_WIN32)
struct HeapHandle {
  void* value = nullptr;
  bool operator==(const HeapHandle&) const = default;
};

/// Returns the number by which reports identify the heap; 0 if the heap is unknown.
[[nodiscard]] inline std::uintptr_t number_of(HeapHandle heap) noexcept {
  return reinterpret_cast<std::uintptr_t>(heap.value);
}
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

/// Returns true if both heaps are known and differ.
[[nodiscard]] inline bool are_different(HeapHandle a, HeapHandle b) noexcept {
  return number_of(a) != 0 && number_of(b) != 0 && a != b;
}

}  // namespace alloctap::os
