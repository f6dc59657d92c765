#pragma once

#include <cstddef>
#include <cstdint>

#include "alloctap/os/windows/api.hpp"
#include "alloctap/os/windows/virtual_memory.hpp"

namespace alloctap::testing {

inline constexpr std::uintptr_t kAddressStep = std::uintptr_t{64} << 10;

/// What is left of a step that the tracker took for itself is taken page by page.
inline bool is_in_own_step(std::uintptr_t start) {
  return os::AddressSteps::knows(os::AddressSteps::step_of(start));
}

inline void give_addresses_back(std::uintptr_t start, std::size_t bytes) {
  void* const place = reinterpret_cast<void*>(start);
  if (is_in_own_step(start)) {
    ::VirtualFree(place, bytes, MEM_DECOMMIT);
  } else {
    ::VirtualFree(place, 0, MEM_RELEASE);
  }
}

inline bool take_addresses(std::uintptr_t start, std::size_t bytes) {
  const DWORD how = is_in_own_step(start) ? MEM_COMMIT : MEM_RESERVE;
  return ::VirtualAlloc(reinterpret_cast<void*>(start), bytes, how, PAGE_NOACCESS) != nullptr;
}

inline std::byte* map_code_before_gap() {
  // In the middle, where what is mapped next does not come: that takes the lowest place.
  constexpr std::size_t kWide = std::size_t{1} << 30;
  auto* const place =
      static_cast<std::byte*>(::VirtualAlloc(nullptr, kWide, MEM_RESERVE, PAGE_NOACCESS));
  if (place == nullptr) return nullptr;
  ::VirtualFree(place, 0, MEM_RELEASE);
  return static_cast<std::byte*>(::VirtualAlloc(place + kWide / 2, kAddressStep,
                                                MEM_RESERVE | MEM_COMMIT, PAGE_EXECUTE_READWRITE));
}

}  // namespace alloctap::testing
