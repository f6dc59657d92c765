// Memory rises and falls three times, each time by another function; the second wave is the
// highest. Each stays for a while, so that a timeline sees it.
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using Blocks = std::vector<void*>;

constexpr std::size_t kBlockBytes = 10'000;

/// Keeps the compiler from knowing what a pointer is good for.
void* escape(void* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

void rise(Blocks& blocks, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    blocks.push_back(escape(std::malloc(kBlockBytes)));
    if (i % 3 != 0) continue;
    std::free(blocks.back());
    blocks.pop_back();
  }
}

void fall(Blocks& blocks) {
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  while (!blocks.empty()) {
    std::free(blocks.back());
    blocks.pop_back();
  }
}

}  // namespace

extern "C" {

__attribute__((noinline)) void first_wave(Blocks& blocks) {
  rise(blocks, 3'000);
  fall(blocks);
}

__attribute__((noinline)) void highest_wave(Blocks& blocks) {
  rise(blocks, 9'000);
  fall(blocks);
}

__attribute__((noinline)) void last_wave(Blocks& blocks) {
  rise(blocks, 6'000);
  fall(blocks);
}
}

int main() {
  Blocks blocks;
  first_wave(blocks);
  highest_wave(blocks);
  last_wave(blocks);
  return 0;
}
