// tells_memory COUNT: holds so many blocks of 64 call paths, and prints what the kernel says of its
// whole address space: bytes mapped, and bytes resident in pages that are no file's. How many of a
// file's are there depends on what else has read it lately.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Block {
  Block* next;
  char rest[64];
};

Block* volatile last = nullptr;

bool hold_one() {
  auto* block = static_cast<Block*>(std::malloc(sizeof(Block)));
  if (block == nullptr) return false;
  block->next = last;
  last = block;
  return true;
}

/// Two ways at each of six levels. The barrier keeps calls from becoming jumps.
[[gnu::noinline]] bool hold_below(unsigned path, int levels) {
  bool held = false;
  if (levels == 0) {
    held = hold_one();
  } else if (path % 2 == 0) {
    held = hold_below(path / 2, levels - 1);
    asm volatile("");
  } else {
    held = hold_below(path / 2, levels - 1);
  }
  asm volatile("" : : : "memory");
  return held;
}

}  // namespace

int main(int, char** arguments) {
  const long count = std::atol(arguments[1]);
  for (long i = 0; i < count; ++i) {
    if (!hold_below(static_cast<unsigned>(i), 6)) return 1;
  }
  std::FILE* maps = std::fopen("/proc/self/smaps", "r");
  if (maps == nullptr) return 1;
  char line[512];
  unsigned long kilobytes = 0;
  unsigned long mapped = 0;
  unsigned long resident = 0;
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    if (std::sscanf(line, "Size: %lu", &kilobytes) == 1) mapped += kilobytes;
    if (std::sscanf(line, "Anonymous: %lu", &kilobytes) == 1) resident += kilobytes;
  }
  std::printf("%lu %lu\n", mapped * 1024, resident * 1024);
  return 0;
}
