// many_blocks COUNT: holds so many blocks of 16 bytes at its end, and says how many milliseconds it
// took to allocate them.
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

struct Block {
  Block* next;
  long number;
};

Block* volatile last = nullptr;

}  // namespace

int main(int, char** arguments) {
  const auto start = std::chrono::steady_clock::now();
  const long count = std::atol(arguments[1]);
  for (long i = 0; i < count; ++i) {
    auto* block = static_cast<Block*>(std::malloc(sizeof(Block)));
    if (block == nullptr) return 1;
    *block = {last, i};
    last = block;
  }
  const auto took = std::chrono::steady_clock::now() - start;
  std::printf("%ld\n", static_cast<long>(took / std::chrono::milliseconds(1)));
  return 0;
}
