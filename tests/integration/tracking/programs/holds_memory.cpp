// Holds about 500 MB in blocks of mixed sizes, after it gave back as many others, and prints how
// many bytes it holds.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

/// Keeps the compiler from knowing what a pointer is good for.
void* escape(void* pointer) {
  __asm__ volatile("" : "+r"(pointer) : : "memory");
  return pointer;
}

std::uint64_t random_state = 1;

/// From `least` to twice that.
std::size_t size_from(std::size_t least) {
  random_state = random_state * 6364136223846793005 + 1442695040888963407;
  return least + (random_state >> 33) % least;
}

std::size_t hold(std::size_t bytes, std::size_t least) {
  std::size_t held = 0;
  while (held < bytes) {
    const std::size_t size = size_from(least);
    void* kept = escape(std::malloc(size));
    void* given_back = escape(std::malloc(size));
    if (kept == nullptr || given_back == nullptr) std::abort();
    std::free(given_back);
    held += size;
  }
  return held;
}

}  // namespace

int main() {
  std::size_t held = 0;
  held += hold(60'000'000, 1000);
  held += hold(60'000'000, 20'000);
  held += hold(80'000'000, 300'000);
  held += hold(300'000'000, 4'000'000);
  std::printf("%zu\n", held);
  return 0;
}
