#include "../allocation_ways.hpp"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

namespace corpus {
namespace {

constexpr std::size_t kUsual = 64;

void free_block(char* block, std::size_t) { std::free(block); }

char* call_aligned_alloc(std::size_t size) {
  return static_cast<char*>(aligned_alloc(hidden(std::size_t{64}), size));
}

char* call_posix_memalign(std::size_t size) {
  void* block = nullptr;
  return posix_memalign(&block, hidden(std::size_t{64}), size) == 0 ? static_cast<char*>(block)
                                                                    : nullptr;
}

char* call_memalign(std::size_t size) {
  return static_cast<char*>(memalign(hidden(std::size_t{64}), size));
}

char* call_reallocarray(std::size_t size) {
  return static_cast<char*>(reallocarray(hidden(static_cast<void*>(nullptr)), size, 1));
}

/// A copy takes exactly `size` bytes, its end included.
char* copy_of_text(std::size_t size, bool is_bounded) {
  char source[256];
  memset(source, 'a', sizeof(source));
  source[is_bounded ? sizeof(source) - 1 : size - 1] = '\0';
  return is_bounded ? strndup(hidden(source), size - 1) : strdup(hidden(source));
}

char* call_strdup(std::size_t size) { return copy_of_text(size, false); }
char* call_strndup(std::size_t size) { return copy_of_text(size, true); }

constexpr Way kWays[] = {
    {"aligned_alloc", kUsual, 64, call_aligned_alloc, free_block},
    {"posix_memalign", kUsual, 64, call_posix_memalign, free_block},
    {"memalign", kUsual, 64, call_memalign, free_block},
    {"reallocarray", kUsual, 16, call_reallocarray, free_block},
    {"strdup", kUsual, 16, call_strdup, free_block},
    {"strndup", kUsual, 16, call_strndup, free_block},
};

}  // namespace

std::span<const Way> system_ways() { return kWays; }

}  // namespace corpus
