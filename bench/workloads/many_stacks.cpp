// usage: many_stacks BLOCKS STACKS: holds so many blocks of 16 to 79 bytes from so many stacks.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "bench/call_paths.hpp"

namespace {

/// Keeps the compiler from knowing what a pointer is good for.
void* escape(void* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

/// Below `levels` calls, whose functions are the bits of `turns`, a block: a stack for each number.
void allocate_below(std::uint32_t levels, std::uint32_t turns, std::size_t bytes) {
  const auto allocate = [bytes] {
    if (escape(std::malloc(bytes)) == nullptr) std::abort();
  };
  alloctap::bench::follow<0>({.levels = levels, .turns = turns}, allocate);
}

}  // namespace

int main(int count, char** arguments) {
  const unsigned long blocks = count == 3 ? std::strtoul(arguments[1], nullptr, 10) : 0;
  const unsigned long stacks = count == 3 ? std::strtoul(arguments[2], nullptr, 10) : 0;
  if (blocks == 0 || stacks == 0 || stacks > 1 << 20) {
    std::fputs("usage: many_stacks BLOCKS STACKS\n", stderr);
    return 2;
  }
  for (unsigned long i = 0; i < blocks; ++i) {
    // 20 bits, and the numbers of the rest.
    allocate_below(20, static_cast<std::uint32_t>(i % stacks), 16 + i % 64);
  }
  return 0;
}
