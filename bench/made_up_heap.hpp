/// Addresses and sizes as a heap hands them out, for structures that never follow them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace alloctap::bench {

struct Block {
  void* address = nullptr;
  std::uint64_t size = 0;
};

/// `count` neighbours from `start` on: multiples of 16, an allocator's header before each, sizes
/// mixed as in programs made of small objects (72 bytes on average). The same in every run.
inline std::vector<Block> made_up_heap(std::uintptr_t start, std::size_t count) {
  constexpr std::array<std::uint64_t, 8> kSizes{16, 24, 24, 32, 40, 56, 104, 280};
  constexpr std::uint64_t kHeaderBytes = 8;
  std::minstd_rand random(1);
  std::vector<Block> blocks;
  blocks.reserve(count);
  for (std::uintptr_t address = start; blocks.size() < count;) {
    const std::uint64_t size = kSizes[random() / 16 % kSizes.size()];
    blocks.push_back({reinterpret_cast<void*>(address), size});
    address += (size + kHeaderBytes + 15) / 16 * 16;
  }
  return blocks;
}

/// Far enough apart for a heap each.
inline std::uintptr_t start_of_heap(int number) {
  return 0x5500'0000'0000 + static_cast<std::uintptr_t>(number) * 0x1'0000'0000;
}

}  // namespace alloctap::bench
