// Allocates far more than it touches, grows and frees it, and prints whether its memory stayed
// small.
#include <sys/resource.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "busy_threads.hpp"

int main() {
  using programs::keep;
  constexpr std::size_t kBytes = std::size_t{90} << 20;
  constexpr std::size_t kPage = 4096;
  bool is_kept = true;
  for (int i = 0; i < 6; ++i) {
    auto* block = static_cast<char*>(i % 2 == 0 ? std::malloc(kBytes) : std::calloc(kBytes, 1));
    for (std::size_t at = 0; at < kBytes; at += kBytes / 10) block[at] = 1;
    block = static_cast<char*>(std::realloc(block, 2 * kBytes));
    for (std::size_t at = 0; at < kBytes; at += kBytes / 10) is_kept &= block[at] == 1;
    is_kept &= i % 2 == 0 || block[kBytes / 20 / kPage * kPage] == 0;
    std::free(block);
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("%s, %s\n", is_kept ? "kept" : "lost", usage.ru_maxrss < 120'000 ? "small" : "large");
}
