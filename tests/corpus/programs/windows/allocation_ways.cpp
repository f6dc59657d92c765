#include "../allocation_ways.hpp"

#include <malloc.h>
#include <string.h>
#include <windows.h>

namespace corpus {
namespace {

constexpr std::size_t kUsual = 64;

char* call_aligned_malloc(std::size_t size) {
  return static_cast<char*>(_aligned_malloc(size, hidden(std::size_t{64})));
}
void call_aligned_free(char* block, std::size_t) { _aligned_free(block); }

char* call_heap_alloc(std::size_t size) {
  return static_cast<char*>(HeapAlloc(GetProcessHeap(), 0, size));
}
void call_heap_free(char* block, std::size_t) { HeapFree(GetProcessHeap(), 0, block); }

char* call_local_alloc(std::size_t size) {
  return static_cast<char*>(LocalAlloc(LMEM_FIXED, size));
}
void call_local_free(char* block, std::size_t) { LocalFree(block); }

char* call_strdup(std::size_t size) {
  char source[256];
  memset(source, 'a', sizeof(source));
  source[size - 1] = '\0';
  return _strdup(hidden(source));
}
void free_block(char* block, std::size_t) { std::free(block); }

constexpr Way kWays[] = {
    {"_aligned_malloc", kUsual, 64, call_aligned_malloc, call_aligned_free},
    {"HeapAlloc", kUsual, 16, call_heap_alloc, call_heap_free, true},
    {"LocalAlloc", kUsual, 16, call_local_alloc, call_local_free},
    {"_strdup", kUsual, 16, call_strdup, free_block},
};

}  // namespace

std::span<const Way> system_ways() { return kWays; }

}  // namespace corpus
