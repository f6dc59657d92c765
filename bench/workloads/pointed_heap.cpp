// A heap of many blocks that point at each other: a tree in which each leads to two more.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

using Clock = std::chrono::steady_clock;

/// What it costs the system to copy the process, and a thread that waits for it.
double fork_ms() {
  const auto start = Clock::now();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  const auto end = Clock::now();
  ::waitpid(child, nullptr, 0);
  return std::chrono::duration<double, std::milli>(end - start).count();
}

/// Read by nobody, so it is kept for those who look for roots.
void** volatile root;

}  // namespace

/// usage: pointed_heap MIB BLOCK_BYTES. Prints how long a fork takes, the least of five.
int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::size_t bytes = std::strtoull(argv[2], nullptr, 10);
  const std::size_t count = (std::strtoull(argv[1], nullptr, 10) << 20) / bytes;
  auto** blocks = static_cast<void***>(std::malloc(count * sizeof(void*)));
  std::uint64_t random = 1;
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i] = static_cast<void**>(std::malloc(bytes));
    for (std::size_t word = 0; word < bytes / 8; ++word) {
      random = random * 6364136223846793005 + 1442695040888963407;
      blocks[i][word] = reinterpret_cast<void*>(random >> 40);
    }
    // Parents in an order that is no order of addresses.
    if (i > 0) blocks[(i - 1) / 2][1 + i % 2] = blocks[i];
  }
  root = blocks[0];
  std::free(blocks);
  double least = fork_ms();
  for (int i = 0; i < 4; ++i) least = std::min(least, fork_ms());
  std::printf("%.3f\n", least);
  std::fflush(stdout);
  std::exit(0);
}
