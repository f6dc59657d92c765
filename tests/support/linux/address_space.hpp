#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace alloctap::testing {

inline constexpr std::uintptr_t kAddressStep = 4096;

inline void give_addresses_back(std::uintptr_t start, std::size_t bytes) {
  munmap(reinterpret_cast<void*>(start), bytes);
}

inline bool take_addresses(std::uintptr_t start, std::size_t bytes) {
  auto* const wanted = reinterpret_cast<void*>(start);
  void* const taken =
      mmap(wanted, bytes, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (taken == wanted) return true;
  if (taken != MAP_FAILED) munmap(taken, bytes);
  return false;
}

inline std::byte* map_code_before_gap() {
  void* const pages = mmap(nullptr, 2 * kAddressStep, PROT_READ | PROT_WRITE | PROT_EXEC,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  auto* const code = static_cast<std::byte*>(pages);
  munmap(code + kAddressStep, kAddressStep);
  return code;
}

}  // namespace alloctap::testing
